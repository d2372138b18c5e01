//go:build linux || darwin

package bench

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// postgres is a server of its own, in a directory and on a socket that nobody else uses, and one
// session of it.
type postgres struct {
	bin, dir string
	as       *syscall.SysProcAttr // it refuses to run as root
	in       io.WriteCloser
	out      *bufio.Scanner
}

// runServer ends the server when its standard input does, which also happens if this process is
// killed and can clean nothing up.
const runServer = `"$@" & read -r _; kill -INT $!; wait $!`

// startPostgres skips where there is no PostgreSQL. The settings are those of a server that has this
// to do and no more: commits are on disk when they return, as by default, and a checkpoint never
// falls into what is measured.
func startPostgres(b *testing.B) *postgres {
	b.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		b.Skip("there is no PostgreSQL here to compare with")
	}
	initdb, err := filepath.EvalSymlinks(found[len(found)-1]) // the others stand beside the file, not the link
	require.NoError(b, err)
	p := &postgres{bin: filepath.Dir(initdb)}
	p.dir, err = os.MkdirTemp("", "offsetledger-pg-") //nolint:usetesting // another user has to reach it
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(p.dir)) })
	if os.Getuid() == 0 {
		p.leaveRoot(b)
	}
	data := filepath.Join(p.dir, "data")
	text, err := p.command("initdb", "-D", data, "-A", "trust", "-U", "bench", "--locale=C", "-E", "UTF8").CombinedOutput()
	require.NoError(b, err, string(text))
	server := p.command("/bin/sh", "-c", runServer, "sh", filepath.Join(p.bin, "postgres"), "-D", data, "-k", p.dir, "-c", "listen_addresses=",
		"-c", "synchronous_commit=on", "-c", "shared_buffers=1GB", "-c", "effective_cache_size=4GB", "-c", "work_mem=64MB", "-c", "maintenance_work_mem=256MB",
		"-c", "max_wal_size=16GB", "-c", "checkpoint_timeout=1h", "-c", "random_page_cost=1.1", "-c", "jit=off", "-c", "statement_timeout=5min")
	hold, err := server.StdinPipe()
	require.NoError(b, err)
	log, err := os.Create(filepath.Join(p.dir, "log"))
	require.NoError(b, err)
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	require.NoError(b, server.Start())
	b.Cleanup(func() {
		require.NoError(b, hold.Close())
		_ = server.Wait() // it was asked to end
	})
	for until := time.Now().Add(time.Minute); p.command("pg_isready", "-h", p.dir).Run() != nil; {
		if time.Now().After(until) {
			text, _ := os.ReadFile(log.Name())
			b.Fatalf("the server does not come up: %s", text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.connect(b)
	return p
}

func (p *postgres) leaveRoot(b *testing.B) {
	b.Helper()
	who, err := user.Lookup("postgres")
	if err != nil {
		b.Skip("PostgreSQL refuses to run as root, and there is no user postgres")
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	require.NoError(b, err)
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	require.NoError(b, err)
	require.NoError(b, os.Chown(p.dir, int(uid), int(gid)))
	p.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func (p *postgres) command(path string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.bin, path)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, p.as
	return cmd
}

func (p *postgres) connect(b *testing.B) {
	b.Helper()
	session := p.command("psql", "-h", p.dir, "-U", "bench", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1")
	session.Stderr = os.Stderr
	in, err := session.StdinPipe()
	require.NoError(b, err)
	out, err := session.StdoutPipe()
	require.NoError(b, err)
	p.in, p.out = in, bufio.NewScanner(out)
	require.NoError(b, session.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		require.NoError(b, session.Wait())
	})
}

// do runs statements and returns the lines of their answer and how long it took.
func (p *postgres) do(b *testing.B, text string) (lines []string, took time.Duration) {
	b.Helper()
	began := time.Now()
	_, err := io.WriteString(p.in, text+"\n\\echo =end=\n")
	require.NoError(b, err)
	for p.out.Scan() {
		if p.out.Text() == "=end=" {
			return lines, time.Since(began)
		}
		lines = append(lines, p.out.Text())
	}
	b.Fatalf("the session has ended: %v", p.out.Err())
	return nil, 0
}

// number is the answer of a query that is one number.
func (p *postgres) number(b *testing.B, text string) float64 {
	b.Helper()
	lines, _ := p.do(b, text)
	require.Len(b, lines, 1)
	n, err := strconv.ParseFloat(lines[0], 64)
	require.NoError(b, err)
	return n
}
