package main

import (
	"context"
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// checked looks for goroutines that nobody waited for when all tests have ended.
type checked struct{ *testing.M }

func (m checked) Run() int {
	if err := flag.Set("test.parallel", "8"); err != nil { // those that say so wait more than they work
		panic(err)
	}
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(checked{m}, map[string]func(){"offsetledger": scripted})
}

// scripted is the program as scripts run it: with the clock of the story.
func scripted() {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, program: typedProgram(os.Args[0]), now: time.Now}
	if at, err := time.Parse(time.RFC3339, os.Getenv("STORY_NOW")); err == nil {
		a.now = func() time.Time { return at }
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := a.execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// The scripts in testdata show what is typed and what comes of it. UPDATE_SCRIPTS=1 writes
// what comes into them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("STORY_NOW", apitest.NightEnds)
			env.Setenv("HOME", env.WorkDir)
			// No daemon of this machine answers instead of the story.
			env.Setenv(envDataDir, env.WorkDir+"/none")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ledger":   func(ts *testscript.TestScript, _ bool, args []string) { writeLedger(t, args[0], ts.MkAbs(args[1])) },
			"exitcode": exitCode,
			"replace":  replaceIn,
			"daemon":   func(ts *testscript.TestScript, _ bool, args []string) { startDaemon(t, ts, args) },
		},
	})
}

// replaceIn is the script command "replace OLD NEW FROM TO": it writes a file with one text in
// place of another.
func replaceIn(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[2])
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%s does not contain %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.ReplaceAll(text, args[0], args[1])), 0o644))
}

// exitCode is the script command "exitcode N PROGRAM ...": it runs and must end with N.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, not %s", code, want)
	}
}

var stories = map[string]func(testing.TB, apitest.Appender) uint64{
	"night": apitest.Night,
	"names": apitest.Names,
	"empty": func(testing.TB, apitest.Appender) uint64 { return 0 },
}

// writeLedger is the script command "ledger STORY DIR": it makes a ledger that holds a story.
func writeLedger(t *testing.T, story, dir string) {
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	log, err := stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	stories[story](t, log)
}

// startDaemon is the script command "daemon DIR [QUIET]": until the script ends, the ledger in DIR
// is open elsewhere and answers at $DAEMON as a daemon does whose capture is close to the present.
// Nothing has come for as long as QUIET says since the story ended.
func startDaemon(t *testing.T, ts *testscript.TestScript, args []string) {
	dir := ts.MkAbs(args[0])
	l, err := openLedger(t.Context(), dir, nil)
	require.NoError(t, err)
	now, err := time.Parse(time.RFC3339, apitest.NightEnds)
	require.NoError(t, err)
	if len(args) > 1 {
		quiet, err := time.ParseDuration(args[1])
		require.NoError(t, err)
		now = now.Add(quiet)
	}
	server := httptest.NewServer(api.NewHandler(api.Config{
		Log: l.log, View: l.view, Append: appender(l.log), Now: func() time.Time { return now }, Hosts: api.LoopbackHosts,
		Status: func() api.Status {
			return api.Status{Capturing: true, Ready: true, Behind: 300 * time.Millisecond, BehindKnown: true}
		},
	}))
	withdraw, err := announce(dir, server.URL)
	require.NoError(t, err)
	ts.Setenv("DAEMON", server.URL)
	ts.Defer(func() {
		withdraw()
		server.Close()
		require.NoError(t, l.close())
	})
}
