package kafka

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// coordinator is what a broker keeps of the offsets of its groups, told as simply as can be: a
// plain commit and a deletion count at once, a deletion forgets what waits, and the end of a
// transaction applies what waits if nothing later stands in its place.
type coordinator struct {
	committed map[groupKey]stored
	waiting   map[int64]map[groupKey]stored
}

type stored struct{ at, position int64 }

func newCoordinator() *coordinator {
	return &coordinator{committed: map[groupKey]stored{}, waiting: map[int64]map[groupKey]stored{}}
}

func (c *coordinator) commit(k groupKey, at, position int64) { c.committed[k] = stored{at, position} }

func (c *coordinator) remove(k groupKey) {
	delete(c.committed, k)
	for _, rows := range c.waiting {
		delete(rows, k)
	}
}

func (c *coordinator) wait(producer int64, k groupKey, at, position int64) {
	if c.waiting[producer] == nil {
		c.waiting[producer] = map[groupKey]stored{}
	}
	c.waiting[producer][k] = stored{at, position}
}

func (c *coordinator) end(producer int64, commit bool) {
	for k, row := range c.waiting[producer] {
		if is, ok := c.committed[k]; commit && (!ok || row.position > is.position) {
			c.committed[k] = row
		}
	}
	delete(c.waiting, producer)
}

// readable is what OffsetFetch answers.
func (c *coordinator) readable() map[groupKey]int64 {
	all := map[groupKey]int64{}
	for k, s := range c.committed {
		all[k] = s.at
	}
	return all
}

// Plain, transactional and deleted offsets of one key in every order that was tried on a real
// broker, and some more: p is a plain commit, x a deletion, a and b rows of two transactions,
// A+ and A- their ends. After each step clients read what stands below it.
func TestInterleavingsOfPlainTransactionalAndDeleted(t *testing.T) {
	for _, c := range []struct{ steps, reads string }{
		{"p5 a100 p50 A+", "5 5 50 50"}, // by log order alone: 5 100 50
		{"p5 a100 A+", "5 5 100"},
		{"p5 a100 A-", "5 5 5"},
		{"p5 a100 p50 A-", "5 5 50 50"},
		{"a100 p50 A+", "- 50 50"},
		{"p5 a100 x A+", "5 5 - -"},
		{"p5 x a100 A+", "5 - - 100"},
		{"p5 a100 x a200 A+", "5 5 - - 200"},
		{"p5 a100 x p50 A+", "5 5 - 50 50"},
		{"p5 a100 a90 A+", "5 5 5 90"},
		{"p5 a100 b200 B+ A+", "5 5 5 200 200"},
		{"p5 a100 b200 A+ B+", "5 5 5 100 200"},
		{"p5 a100 b200 A- B+", "5 5 5 5 200"},
		{"p5 b200 a100 p50 B+ a300 A+ p6", "5 5 5 50 50 50 300 6"},
		{"a100 A- x", "- - -"},
	} {
		lt, s, f := newLineTest(t), &source{at: 1000}, newFold(t)
		reads := strings.Fields(c.reads)
		for i, step := range strings.Fields(c.steps) {
			s.at += 10
			f.apply(lt.feed(s.step(step)))
			got := "-"
			if at, ok := f.visible[key("g", "t", 0)]; ok {
				got = strconv.FormatInt(at, 10)
			}
			require.Equal(t, reads[i], got, "%s: after step %d", c.steps, i+1)
		}
		for _, ch := range f.changes {
			if ch.To.Exists {
				require.Contains(t, reads, strconv.FormatInt(ch.To.At, 10), "%s: nobody could read it", c.steps)
			}
		}
	}
}

// step makes the record of one step of an interleaving.
func (s *source) step(step string) sourceRecord {
	at, _ := strconv.ParseInt(step[1:], 10, 64)
	switch step[0] {
	case 'p':
		return s.plain("g", "t", 0, at)
	case 'a':
		return s.within(1, "g", "t", 0, at)
	case 'b':
		return s.within(2, "g", "t", 0, at)
	case 'A':
		return s.marker(1, step[1] == '+')
	case 'B':
		return s.marker(2, step[1] == '+')
	}
	return s.tombstone("g", "t", 0)
}

// drawRecords draws what a few clients do to a few offsets, and lets each tell model of it.
func drawRecords(rt *rapid.T, s *source, told func(c *coordinator)) *coordinator {
	c := newCoordinator()
	small := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(rt, label) }
	for range rapid.IntRange(1, 60).Draw(rt, "records") {
		s.at += int64(small(2, "tick"))
		group, partition := []string{"g", "h"}[small(2, "group")], int32(small(3, "partition"))
		k, at, producer := key(group, "t", partition), int64(small(1000, "at")), int64(1+small(2, "producer"))
		switch small(10, "kind") {
		case 0, 1, 2, 3:
			c.commit(k, at, s.next)
			s.plain(group, "t", partition, at)
		case 4, 5:
			c.wait(producer, k, at, s.next)
			s.within(producer, group, "t", partition, at)
		case 6, 7:
			commit := small(2, "commit") == 0
			c.end(producer, commit)
			s.marker(producer, commit)
		case 8:
			c.remove(k)
			s.tombstone(group, "t", partition)
		case 9:
			s.groupTombstone(group)
		}
		told(c)
	}
	return c
}

// Whatever plain commits, transactions and deletions come in whatever order, at each moment
// the fold shows what clients can read, and passes through nothing else.
func TestFoldShowsAtEachMomentWhatClientsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, f := &source{at: 1000}, newFold(t)
		lt := newLineTest(t)
		drawRecords(rt, s, func(c *coordinator) {
			f.apply(lt.feed(s.all[len(s.all)-1]))
			require.Equal(t, c.readable(), f.visible, "after position %d", s.next-1)
		})
	})
}

// Capture that dies at any moments, and goes on each time from the cursor it had stored, gives
// out the very same events as one that does not.
func TestDyingAtAnyMomentChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &source{at: 1000}
		c := drawRecords(rt, s, func(*coordinator) {})
		whole := newLineTest(t)
		whole.feed(s.all...)

		cut, f := newLineTest(t), newFold(t)
		deaths := 0
		for i := 0; i < len(s.all); i++ {
			require.NoError(t, cut.line.feed(&s.all[i], cut.now))
			if deaths < 20 && rapid.IntRange(0, 5).Draw(rt, "dies") == 0 {
				i = int(cut.crash()) - 1
				deaths++
			}
		}
		cut.feed()
		require.Equal(t, whole.log, cut.log)
		require.Equal(t, whole.cursor(), cut.cursor())
		f.apply(cut.log)
		require.Equal(t, c.readable(), f.visible)
	})
}

// The same where runs are closed at moments of no meaning, as the end of a fetch does: events
// may be cut otherwise, but every row is there once, in order, at its time.
func TestDyingBetweenFetchesLosesAndDoublesNoRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &source{at: 1000}
		drawRecords(rt, s, func(*coordinator) {})
		whole := newLineTest(t)
		whole.feed(s.all...)

		cut := newLineTest(t)
		deaths := 0
		for i := 0; i < len(s.all); i++ {
			require.NoError(t, cut.line.feed(&s.all[i], cut.now))
			switch n := rapid.IntRange(0, 8).Draw(rt, "what"); {
			case n == 0 && deaths < 20:
				i = int(cut.crash()) - 1
				deaths++
			case n <= 2:
				cut.feed()
			}
		}
		cut.feed()
		require.Equal(t, rowsOf(whole.log), rowsOf(cut.log))
	})
}

// toldRow is a row by itself.
type toldRow struct {
	kind  ledger.Kind
	group string
	row   ledger.Offset
}

func rowsOf(events []ledger.Event) (rows []toldRow) {
	for _, e := range events {
		for _, o := range e.Offsets {
			rows = append(rows, toldRow{e.Kind, e.Group, o})
		}
	}
	return rows
}

// No later row of a line has an earlier time, whatever times records claim, and none lies
// before a moment that answers were promised to be final up to.
func TestEffectiveTimesNeverGoBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lt, s := newLineTest(t), &source{}
		millis := rapid.OneOf(rapid.Int64Range(-5, 100), rapid.Int64Range(0, farFuture*2), rapid.Int64())
		clock := ledger.AtMillis(0)
		var last ledger.Time
		for range rapid.IntRange(1, 30).Draw(rt, "records") {
			s.at = millis.Draw(rt, "at")
			clock = clock.Add(100)
			lt.now = clock
			if rapid.Bool().Draw(rt, "end") {
				lt.line.observeEnd(s.next, clock)
			}
			for _, e := range lt.feed(s.plain("g", "t", 0, 1)) {
				require.False(t, e.Time.Before(last))
				require.False(t, e.Time.Before(lt.line.completeThrough))
				require.False(t, e.Time.After(ledger.MaxTime(clock, last)), "the capture clock caps it")
				last = e.Time
			}
		}
	})
}

func TestCoordinatorModelForgetsWhatWaits(t *testing.T) {
	c := newCoordinator()
	c.commit(key("g", "t", 0), 5, 0)
	c.wait(1, key("g", "t", 0), 100, 1)
	c.remove(key("g", "t", 0))
	c.end(1, true)
	require.Empty(t, maps.Collect(maps.All(c.readable())))
}

// A transaction is so large that its end does not fit into one append. It is given out in
// steps; dying between them loses and doubles nothing.
func TestLargeTransactionEndsInSteps(t *testing.T) {
	s := &source{at: 1000}
	for p := range int32(30_000) {
		s.within(7, "g", "t", p, int64(p))
	}
	s.marker(7, true)
	s.plain("g", "t", 0, 5)
	whole := newLineTest(t)
	whole.feed(s.all...)
	require.Len(t, rowsOf(whole.log), 30_001)

	cut := newLineTest(t)
	steps := 0
	for i := 0; i < len(s.all); {
		r := &s.all[i]
		require.NoError(t, cut.line.feed(r, cut.now))
		require.Less(t, cut.line.out.bytes, 2*stepBytes)
		if r.control {
			steps++
			i = int(cut.crash())
			continue
		}
		i++
	}
	require.Greater(t, steps, 2)
	cut.feed()
	require.Equal(t, rowsOf(whole.log), rowsOf(cut.log))
	require.Empty(t, cut.cursor().Open)
}
