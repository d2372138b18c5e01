package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

// demonstration is a running demo, as far as its first line tells where it is.
type demonstration struct {
	*running
	began           time.Time
	kafka, url, dir string
}

var demoReady = regexp.MustCompile(`^Kafka (\S+)   API (http://\S+)   data (\S+)   ready in (\d+\.\d) s   Ctrl-C ends\n`)

// launchDemo starts a demo and returns when it is ready, which takes less than three seconds.
func launchDemo(t *testing.T, flags ...string) *demonstration {
	t.Helper()
	d := &demonstration{began: time.Now(), running: launch(t, append([]string{"demo", "--listen", "127.0.0.1:0"}, flags...)...)}
	d.said("Ctrl-C ends\n")
	m := demoReady.FindStringSubmatch(d.stdout.String())
	require.NotNil(t, m, "%s", &d.stdout)
	d.kafka, d.url, d.dir = m[1], m[2], m[3]
	took, err := strconv.ParseFloat(m[4], 64)
	require.NoError(t, err)
	require.Less(t, took, 3.0)
	return d
}

// said waits until the demo has printed something.
func (d *demonstration) said(text string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		select {
		case <-d.ended:
			return true
		default:
			return strings.Contains(d.stdout.String(), text)
		}
	}, patience, 10*time.Millisecond, "%s\n%s", &d.stdout, &d.stderr)
	require.Contains(d.t, d.stdout.String(), text, "%s", &d.stderr)
}

// typed runs a command line that the demo printed and returns what comes of it.
func (d *demonstration) typed(line string) string {
	d.t.Helper()
	line, ok := strings.CutPrefix(line, "go run ./cmd/offsetledger ")
	require.True(d.t, ok, "as this program was started: %s", line)
	line, _, _ = strings.Cut(line, " > ")
	r := launch(d.t, strings.Fields(line)...)
	require.Equal(d.t, exitDone, r.wait(), "%s: %s", line, &r.stderr)
	return r.stdout.String()
}

var demoStoryLines = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^\d\d:\d\d:\d\dZ  billing   reads orders \(3 partitions\) +committed (\d+), lag \d+$`),
	regexp.MustCompile(`(?m)^\d\d:\d\d:\d\dZ  billing   last member left \(a deploy\)$`),
	regexp.MustCompile(`(?m)^\d\d:\d\d:\d\dZ  billing   REWIND orders 0-2: (\d+) -> 0, no member \(an admin tool\?\) +<- seq (\d+)$`),
	regexp.MustCompile(`(?m)^\d\d:\d\d:\d\dZ  billing   reads again from 0: 310 records twice so far, then stopped$`),
	regexp.MustCompile(`(?m)^Three questions\. In another terminal:$`),
	regexp.MustCompile(`(?m)^  where was it\?  (.+)$`),
	regexp.MustCompile(`(?m)^  who moved it\?  (.+)$`),
	regexp.MustCompile(`(?m)^  put it back:   (.+)$`),
	regexp.MustCompile(`(?m)^                 (.+)$`),
}

// The whole demo: its lines come in order, somebody moves billing within ten seconds, the
// questions that it prints have their answers when they are typed, its Kafka is one for any
// client, billing reads on when it is put back, and Ctrl-C leaves nothing behind.
func TestDemoFromReadyToPutBack(t *testing.T) {
	t.Parallel()
	d := launchDemo(t)
	d.said("REWIND")
	require.Less(t, time.Since(d.began), 10*time.Second)
	d.said("starts again by itself)\n")
	var found []string
	rest := d.stdout.String()
	for _, line := range demoStoryLines {
		at := line.FindStringSubmatchIndex(rest)
		require.NotNil(t, at, "%s in %s", line, rest)
		for i := 2; i < len(at); i += 2 {
			found = append(found, rest[at[i]:at[i+1]])
		}
		rest = rest[at[1]:]
	}
	before, seq := found[1], found[2]
	where, who, plan, apply := found[3], found[4], found[5], found[6]

	answer := d.typed(where)
	require.Contains(t, answer, "GROUP  billing")
	var was int64
	offsets := map[int32]int64{}
	for _, row := range regexp.MustCompile(`(?m)^orders +(\d) +(\d+) `).FindAllStringSubmatch(answer, -1) {
		p, err := strconv.ParseInt(row[1], 10, 32)
		require.NoError(t, err)
		at, err := strconv.ParseInt(row[2], 10, 64)
		require.NoError(t, err)
		offsets[int32(p)] = at
		was += at
	}
	require.Equal(t, before, strconv.FormatInt(was, 10))
	answer = d.typed(who)
	require.Regexp(t, `(?m)^i`+seq+` .* billing +rewind +3 +`+before+` `, answer)
	require.Contains(t, answer, "admin tool")

	made := regexp.MustCompile(`(?m)^PLAN (p\w+)  demo/billing  back to before i` + seq + ` `).FindStringSubmatch(d.typed(plan))
	require.NotNil(t, made)
	require.Regexp(t, `(?m)^written 3  read back 3  refused 0  `, d.typed(apply+" "+made[1]+" --yes"))
	putBack(t, d, offsets)
	require.Regexp(t, `(?m)^i`+seq+` .*put back by r\w+$`, d.typed(who))
	d.said(fmt.Sprintf("billing   put back: 310 -> %s, starts again\n", before))
	d.readsOn(offsets)

	require.Equal(t, exitInterrupted, d.stop(), "%s", &d.stderr)
	require.Empty(t, d.stderr.String())
	require.NoDirExists(t, d.dir)
}

// A demo that was given a time ends by itself, in the middle of its story, and that is no error.
func TestDemoEndsWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	d := launchDemo(t, "--for", "2s")
	require.Equal(t, exitDone, d.wait(), "%s", &d.stderr)
	require.Empty(t, d.stderr.String())
	require.NoDirExists(t, d.dir)
}

// putBack waits until the demo tells that billing was put back, by whom and why.
func putBack(t *testing.T, d *demonstration, offsets map[int32]int64) {
	t.Helper()
	require.Len(t, offsets, 3)
	require.Eventually(t, func() bool {
		told := d.history("--movement", "reset")
		if len(told) < len(offsets) {
			return false
		}
		for _, change := range told {
			require.Equal(t, offsets[*change.Partition], *change.To)
			require.Equal(t, "operator", change.Who.Kind)
			require.Equal(t, "rewound", change.Reason.String())
			require.NotNil(t, change.Plan)
		}
		return true
	}, patience, 50*time.Millisecond)
}

// history is what the demo tells of billing.
func (d *demonstration) history(flags ...string) (rows []api.ChangeRow) {
	d.t.Helper()
	r := launch(d.t, append([]string{"history", "billing", "-o", "jsonl", "--api", d.url}, flags...)...)
	require.Equal(d.t, exitDone, r.wait(), "%s", &r.stderr)
	for dec := json.NewDecoder(strings.NewReader(r.stdout.String())); dec.More(); {
		var row api.ChangeRow
		require.NoError(d.t, dec.Decode(&row))
		rows = append(rows, row)
	}
	return rows
}

// readsOn waits until billing has commits of its own again, and none of what was put back was
// read another time.
func (d *demonstration) readsOn(from map[int32]int64) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		last := d.history()
		newest := last[len(last)-1]
		return newest.Movement == "advance" && newest.Who.Kind == "member" && *newest.To > from[*newest.Partition]
	}, patience, 50*time.Millisecond)
	require.Len(d.t, d.history("--movement", "rewind"), 3)
}

// Ctrl-C ends the demo with 130, and a data directory that was named stays and can be asked.
func TestDemoInterruptedKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	d := launchDemo(t, "--data-dir", dir)
	require.Equal(t, dir, d.dir)
	require.Eventually(t, func() bool {
		r := launch(t, "group", "describe", "fraud", "--data-dir", dir) // asks the demo, which holds it
		return r.wait() == exitDone && strings.Contains(r.stdout.String(), "payments")
	}, patience, 50*time.Millisecond)
	began := time.Now()
	require.Equal(t, exitInterrupted, d.stop())
	require.Less(t, time.Since(began), 5*time.Second)
	require.Empty(t, d.stderr.String())

	r := launch(t, "group", "describe", "fraud", "--data-dir", dir)
	require.Equal(t, exitDone, r.wait(), "%s", &r.stderr)
	require.Regexp(t, `(?m)^CLUSTER  demo +GROUP  fraud`, r.stdout.String())
	require.Regexp(t, `(?m)^payments +0 +\d+`, r.stdout.String())
	require.NoFileExists(t, filepath.Join(dir, apiFile))
}

// A temporary directory is removed on Ctrl-C too, at any moment of the start.
func TestDemoInterruptedLeavesNothingBehind(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond} {
		d := launch(t, "demo", "--listen", "127.0.0.1:0")
		select {
		case <-d.ended:
		case <-time.After(after):
		}
		require.Equal(t, exitInterrupted, d.stop(), "%s", &d.stderr)
		left, err := filepath.Glob(filepath.Join(temp, "offsetledger-demo-*"))
		require.NoError(t, err)
		require.Empty(t, left)
		require.NotContains(t, d.stderr.String(), "error")
	}
	_, err := os.Stat(temp)
	require.NoError(t, err)
}

// The port of the API is another one if it is taken, and the questions name it.
func TestDemoTakesAnotherPort(t *testing.T) {
	l := launchDemo(t)
	other := launch(t, "demo", "--listen", strings.TrimPrefix(l.url, "http://"))
	d := &demonstration{running: other}
	d.said("Ctrl-C ends\n")
	require.NotContains(t, d.stdout.String(), l.url)
	require.Equal(t, exitInterrupted, d.stop())
	require.Equal(t, exitInterrupted, l.stop())
	require.Equal(t, exitUsage, launch(t, "demo", "--for", "-1s").wait())
	require.Equal(t, exitUsage, launch(t, "demo", "--listen", "nowhere").wait())
}
