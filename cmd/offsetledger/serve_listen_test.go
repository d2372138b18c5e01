package main

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Why an address cannot be listened at is told by what is wrong with it: what does not read as one, a
// name that nobody knows, another machine's, a port that only root may have, one that is taken.
func TestWhyTheAPICannotListen(t *testing.T) {
	for address, want := range map[string]string{
		"nonsense":           "; it is host:port, as in 127.0.0.1:8642",
		"127.0.0.1:99999":    "; it is host:port, as in 127.0.0.1:8642",
		"127.0.0.1:nowhere":  "; it is host:port, as in 127.0.0.1:8642",
		"nowhere.invalid:80": ": choose a name or an address of this machine",
	} {
		_, err := net.Listen("tcp", address)
		require.Error(t, err, address)
		told := listenFault(address, err)
		require.ErrorContains(t, told, "--listen "+address+": ")
		require.ErrorContains(t, told, want)
		var own *exitError
		require.ErrorAs(t, told, &own)
		require.Equal(t, exitUsage, own.code)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for address, want := range map[string]string{
		"192.0.2.1:0":         ": it is no address of this machine; choose one with --listen",
		taken.Addr().String(): ": another daemon may be running; choose an address with --listen",
	} {
		_, err := net.Listen("tcp", address)
		require.Error(t, err, address)
		told := listenFault(address, err)
		require.ErrorContains(t, told, want)
		require.NotErrorAs(t, told, new(*exitError))
	}
	denied := &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)} // as nobody but root gets it
	require.ErrorContains(t, listenFault("127.0.0.1:80", denied), "permission denied: this user may not listen there; below 1024 most may not: choose another port")
	require.ErrorContains(t, listenFault("127.0.0.1:80", errors.New("other")), "listen for HTTP at 127.0.0.1:80: other")
}
