package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

func TestTransactionsOnKafka44(t *testing.T) { transactions(t, kafkatest.Version44) }

func TestTransactionsOnKafka40(t *testing.T) {
	ownBroker(t)
	transactions(t, kafkatest.Version40)
}

// interleavings are plain, transactional and deleted offsets of one partition in the orders in
// which log order alone tells a false history: p is a plain commit, a and b rows of two
// transactions, A+ and A- their ends, x deletes the offset and D the group; at K the daemon is
// killed and started again. Below the steps stands what a broker answers after each, and what
// waits for a transaction then and can still come to count; - is nothing.
var interleavings = []struct{ steps, reads, waits string }{
	{"p5 a100 A+", "5 5 100", "- 100 -"},
	{"p5 a100 A-", "5 5 5", "- 100 -"},
	{"p5 a100 p50 A+", "5 5 50 50", "- 100 - -"}, // by log order: 5 100 50
	{"p5 a100 p50 A-", "5 5 50 50", "- 100 - -"},
	{"a100 p50 A+", "- 50 50", "100 - -"},
	{"a100 A-", "- -", "100 -"},
	{"p5 a100 b200 B+ A+", "5 5 5 200 200", "- 100 200 - -"},
	{"p5 a100 b200 A+ B+", "5 5 5 100 200", "- 100 200 200 -"},
	{"p5 a100 b200 A- B+", "5 5 5 5 200", "- 100 200 200 -"},
	{"p5 a100 a90 A+", "5 5 5 90", "- 100 90 -"},
	{"p5 a100 x A+", "5 5 - -", "- 100 - -"},
	{"p5 a100 x a200 A+", "5 5 - - 200", "- 100 - 200 -"},
	{"p5 a100 x p50 A+", "5 5 - 50 50", "- 100 - - -"},
	{"p5 a100 D A+", "5 5 - -", "- 100 - -"},
	{"p5 a100 D a200 A+", "5 5 - - 200", "- 100 - 200 -"},
	{"p5 a100 K A+", "5 5 5 100", "- 100 100 -"},
	{"a100 p50 b200 K B+ A+ p7", "- 50 50 50 200 200 7", "100 - 200 200 - - -"},
}

// An application commits in transactions while others commit plainly and delete. After each
// step the broker is asked what it answers to everybody: history shows these values and no
// others, as of each of these moments the ledger answers what the broker did, and while a
// transaction waits that is shown beside.
func transactions(t *testing.T, version string) {
	r := kafkatest.Shared(t, version)
	topic := unique("orders")
	produce(t, r, topic, 300)
	cl, err := kgo.NewClient(r.Options(namesOnly())...)
	require.NoError(t, err)
	defer cl.Close()
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()

	stories := make([]*story, len(interleavings))
	for i, c := range interleavings {
		stories[i] = &story{t: t, r: r, cl: cl, d: d, topic: topic, group: unique("txn"), open: map[byte]*txn{}}
		waits := strings.Fields(c.waits)
		for n, step := range strings.Fields(c.steps) {
			stories[i].do(step, waits[n])
		}
		require.Equal(t, c.reads, strings.Join(stories[i].reads(), " "), "what the broker answers after %s", c.steps)
	}
	d.through()
	for i, c := range interleavings {
		t.Run(strings.ReplaceAll(c.steps, " ", ","), func(t *testing.T) { stories[i].check(t) })
	}
}

// story is one interleaving while it happens, and what was seen of it.
type story struct {
	t            *testing.T
	r            *kafkatest.Real
	cl           *kgo.Client
	d            *daemon
	topic, group string
	open         map[byte]*txn
	seen         []sight
}

// sight is what the broker answered after a step.
type sight struct {
	step  string
	began time.Time // before the step
	asked time.Time // after the answer
	value string    // - is nothing
	waits string
}

func (s *story) reads() []string {
	out := make([]string, len(s.seen))
	for i := range s.seen {
		out[i] = s.seen[i].value
	}
	return out
}

// spacing is kept between two steps: the resolution of history is 10 ms.
const spacing = 20 * time.Millisecond

// do takes a step, asks the broker, and waits until the daemon shows the same and what waits.
func (s *story) do(step, waits string) {
	s.t.Helper()
	<-time.After(spacing)
	began := time.Now()
	switch name, arg := step[0], step[1:]; {
	case name == 'p':
		require.NoError(s.t, s.r.Commit(bounded(s.t), s.group, s.topic, map[int32]int64{0: number(s.t, arg)}))
	case name == 'x':
		require.NoError(s.t, s.r.DeleteOffsets(bounded(s.t), s.group, s.topic, 0))
	case name == 'K':
		s.d.restart(s.r.Addrs()[0])
	case name == 'D':
		require.NoError(s.t, s.r.DeleteGroup(bounded(s.t), s.group))
	case name >= 'a':
		if s.open[name] == nil {
			s.open[name] = begin(s.t, s.cl, s.group+"-"+string(name))
		}
		s.open[name].commit(s.group, s.topic, 0, number(s.t, arg))
	default:
		name += 'a' - 'A'
		s.open[name].end(arg == "+")
		delete(s.open, name)
	}
	value, exists := fetchOffset(s.t, s.cl, s.group, s.topic)
	now := sight{step: step, began: began, value: "-", waits: waits}
	if exists {
		now.value = strconv.FormatInt(value, 10)
	}
	want := standing{now.value, waits}
	s.d.until("it is as the broker has it", func() bool {
		g, err := s.d.Group(s.t.Context(), api.Query{Group: &s.group})
		return err == nil && standingOf(g) == want
	})
	now.asked = time.Now()
	s.seen = append(s.seen, now)
}

// standing is what the daemon answers of the one partition: the offset, and what waits.
type standing struct{ value, waits string }

func standingOf(g api.Group) standing {
	out := standing{"-", "-"}
	for _, row := range g.Rows {
		out.value = shown(row.CommittedOffset)
		if row.Pending != nil {
			out.waits = strconv.FormatInt(row.Pending.Offset, 10)
		}
	}
	return out
}

// check compares the ledger with what the broker answered.
func (s *story) check(t *testing.T) {
	var changes []sight
	last := "-"
	for _, now := range s.seen {
		if now.value != last {
			changes = append(changes, now)
		}
		last = now.value
	}
	var told []api.ChangeRow
	for _, row := range rows[api.ChangeRow](s.d, "history", s.group) {
		if row.Partition != nil {
			told = append(told, row)
		}
	}
	require.Len(t, told, len(changes), "%+v", told)
	for i, row := range told {
		require.Equal(t, changes[i].value, shown(row.To))
		at, ok := row.Time.Std()
		require.True(t, ok)
		require.WithinRange(t, at, changes[i].began.Truncate(time.Millisecond), changes[i].asked, "%s after %s", row.Movement, changes[i].step)
	}
	for _, now := range s.seen {
		g, err := s.d.Group(t.Context(), api.Query{Group: &s.group, At: now.asked.UTC().Format(time.RFC3339Nano)})
		require.NoError(t, err)
		require.Equal(t, standing{now.value, now.waits}, standingOf(g), "as of the moment after %s", now.step)
		require.Equal(t, "exact", g.Known)
	}
}

func shown(offset *int64) string {
	if offset == nil {
		return "-"
	}
	return strconv.FormatInt(*offset, 10)
}

func number(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}
