package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A team that lets nothing be moved without a second pair of eyes takes a restore back: the plan
// that undo makes is agreed to by somebody else, and the same undo then carries that one out.
func TestUndoOfARestoreThatSomebodyElseHasToAgreeTo(t *testing.T) {
	fake := startKafka(t)
	require.NoError(t, fake.Produce(t.Context(), "t", 0, 100))
	d := serveKafka(t, filepath.Join(t.TempDir(), "ledger"), fake.Addrs()[0], "--allow-writes", "--require-approval", "*/g")
	commitAt(t, fake, "g", 60)
	d.captures("g", "t", 60)
	typed := func(code int, args ...string) *running {
		r := launch(t, append(args, "--api", d.url)...)
		require.Equal(t, code, r.wait(), "%v: %s", args, &r.stderr)
		return r
	}
	carryOut := func(code int, args ...string) *running {
		return typed(code, append(args, "--yes", "--reason", "CHG-41", "--actor", "kim")...)
	}
	approvable := regexp.MustCompile(`restore approve (p[0-9a-f]+).*, and within 24h0m0s .*restore apply (p[0-9a-f]+)`)
	agree := func(refused *running) {
		m := approvable.FindStringSubmatch(refused.stderr.String())
		require.NotNil(t, m, "%s", &refused.stderr)
		require.Equal(t, m[1], m[2])
		typed(exitDone, "restore", "approve", m[1], "--actor", "lee")
	}

	plan := planned(t, exitDone, "reset", "plan", "g", "--to", "40", "--topics", "t:0", "--api", d.url)
	agree(carryOut(exitRefused, "restore", "apply", plan.ID))
	done := carryOut(exitDone, "restore", "apply", plan.ID)
	d.captures("g", "t", 40)
	restore := regexp.MustCompile(`\br[0-9a-f]{6}\b`).FindString(done.stdout.String())

	agree(carryOut(exitRefused, "restore", "undo", restore))
	carryOut(exitDone, "restore", "undo", restore)
	d.captures("g", "t", 60)

	// What was agreed to counts for what it does: once the group has gone past it, it is another plan.
	again := planned(t, exitDone, "reset", "plan", "g", "--to", "30", "--topics", "t:0", "--api", d.url)
	agree(carryOut(exitRefused, "restore", "apply", again.ID))
	restore = regexp.MustCompile(`\br[0-9a-f]{6}\b`).FindString(carryOut(exitDone, "restore", "apply", again.ID).stdout.String())
	agree(carryOut(exitRefused, "restore", "undo", restore))
	commitAt(t, fake, "g", 70)
	d.captures("g", "t", 70)
	carryOut(exitRefused, "restore", "undo", restore)
	carryOut(exitRefused, "restore", "undo", restore, "--after-progress")
	d.captures("g", "t", 70)
}
