package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// An address where something else listens, such as a broker's, is called into question; so is
// one of a daemon that is asked in the wrong scheme.
func TestAnAddressThatIsNoDaemons(t *testing.T) {
	broker := peer(t, func(c net.Conn) { c.Close() })
	r := launch(t, "group", "list", "--api", "http://"+broker)
	require.Equal(t, exitFailed, r.wait())
	require.Regexp(t, `^error: ask http://`+broker+`: .*: is this the address of a daemon\?\n$`, r.stderr.String())

	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	d := serveKafka(t, t.TempDir(), fake.Addrs()[0])
	r = launch(t, "group", "list", "--api", "https"+d.url[len("http"):])
	require.Equal(t, exitFailed, r.wait())
	require.Regexp(t, `HTTPS client: is this the address of a daemon\?\n$`, r.stderr.String())
}
