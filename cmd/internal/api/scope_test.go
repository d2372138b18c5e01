package api_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// drawn is a ledger with a random history: groups that come to topics one after the other, which
// are observed before that and after, are made again and deleted; snapshots are taken on the way.
type drawn struct {
	*daemon
	rnd   *rand.Rand
	at    []time.Time // of the events
	kinds map[string]int
}

func drawHistory(t *testing.T, seed uint64) *drawn {
	d := &drawn{rnd: rand.New(rand.NewPCG(seed, 1)), kinds: map[string]int{}}
	var view *projection.View
	var snapshots *replay.Snapshots
	d.daemon = start(t, func(c *api.Config) {
		l := c.Log.(*ledgertest.Ledger)
		bucket, err := objstore.New(l.Conn(), objstore.Config{})
		require.NoError(t, err)
		snapshots, err = replay.OpenSnapshots(t.Context(), replay.SnapshotConfig{Store: bucket, Incarnation: l.Incarnation(), Pick: l.Pick})
		require.NoError(t, err)
		view, c.Snapshots = c.View, snapshots
		c.Append = func(ctx context.Context, events []ledger.Event) error {
			_, err := l.Append(ctx, events)
			return err
		}
	})
	now := nightEnds.Add(-time.Hour)
	s := apitest.Begin(t, d.ledger, now.Format(time.RFC3339))
	s.Began()
	ends := map[string]int64{}
	for range 150 {
		now = now.Add(time.Duration(d.rnd.IntN(20_000)) * time.Millisecond)
		d.at = append(d.at, now)
		s.AtTime(now)
		topic, group := fmt.Sprintf("t%d", d.rnd.IntN(5)), fmt.Sprintf("g%d", d.rnd.IntN(3))
		switch d.rnd.IntN(14) {
		case 0:
			s.Topic(topic, int32(d.rnd.IntN(3)))
		case 1, 2, 3:
			ends[topic] += int64(d.rnd.IntN(100))
			s.Watermarks(topic, ends[topic]/3, ends[topic], ends[topic]+5)
		case 4:
			s.Members(group, 1, []string{"a", "b"}[:d.rnd.IntN(3)]...)
		case 5:
			s.Delete(group, topic, 2, ledger.CauseDeleted)
		case 6, 7:
			s.Cursor()
		case 8:
			source := ledger.Source{Kind: ledger.SourceTail, Partition: apitest.Line}
			s.Append(ledger.Event{Kind: ledger.KindGap, Source: source, Cause: ledger.CauseTruncated,
				Gap: &ledger.Gap{SourcePartition: apitest.Line, From: ledger.AtTime(now.Add(-time.Second)), To: ledger.AtTime(now)}})
		default:
			s.Commit(group, topic, []string{"", "a-id"}[d.rnd.IntN(2)], int64(d.rnd.IntN(100)), int64(d.rnd.IntN(100)))
		}
		if d.rnd.IntN(40) == 0 {
			require.NoError(t, view.WaitFor(t.Context(), s.Seq()))
			_, err := snapshots.Take(t.Context(), replay.Taking{Read: view.ReadIncidents, Now: now})
			require.NoError(t, err)
		}
	}
	s.Cursor()
	return d
}

// point is a random place of the history, by sequence or by time.
func (d *drawn) point() (string, time.Time) {
	i := d.rnd.IntN(len(d.at))
	if d.rnd.IntN(2) == 0 {
		return fmt.Sprintf("seq:%d", i+2), d.at[i]
	}
	at := d.at[i].Add(time.Duration(d.rnd.IntN(3)-1) * time.Millisecond)
	return at.Format(time.RFC3339Nano), at
}

// What is asked of one group reads that group and no other, and of the topics those that it has
// offsets in. Of any history, at any point, it is what an answer about the whole cluster says of the
// group: its state and lag, what moved between two points, what happened, and how its lag went.
func TestOneGroupIsAnsweredAsTheWholeClusterIs(t *testing.T) {
	kinds, histories := map[string]int{}, uint64(3)
	if testing.Short() {
		histories = 1
	}
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := drawHistory(t, seed)
			for _, g := range []string{"g0", "g1", "g2"} {
				for range 12 {
					d.sameState(t, g)
					d.sameDiff(t, g)
				}
				d.sameHistory(t, g)
				for range 3 {
					d.samePlan(t, g)
				}
			}
			for kind, n := range d.kinds {
				kinds[kind] += n
			}
		})
	}
	for _, kind := range []string{"gaps", "rows", "lags", "moved", "events", "steps"} {
		require.NotZero(t, kinds[kind], kind)
	}
}

func (d *drawn) sameState(t *testing.T, g string) {
	p, _ := d.point()
	one, err := d.Group(t.Context(), api.Query{Group: &g, At: p})
	require.NoError(t, err, p)
	all, err := d.Groups(t.Context(), api.Query{At: p})
	require.NoError(t, err, p)
	i := slices.IndexFunc(all.Rows, func(r api.GroupRow) bool { return string(r.Group) == g })
	if i < 0 {
		require.Empty(t, one.Rows, p)
		return
	}
	if one.Rows == nil || one.Coverage.From.Before(one.Coverage.Began.Time) {
		return // what is not known of before history only the group's own answer says
	}
	require.Equal(t, all.Rows[i], one.GroupRow, p)
	require.Subset(t, all.Coverage.Gaps, one.Coverage.Gaps)
	d.kinds["gaps"] += len(one.Coverage.Gaps)
	// Row by row, with the state of everything.
	q := replay.Point{Seq: all.Seq}
	if parsed, err := replay.ParsePoint(p, nightEnds); err == nil {
		q = parsed
	}
	st, err := replay.StateAt(t.Context(), d.ledger, q, replay.Scope{})
	require.NoError(t, err)
	require.Len(t, one.Rows, len(st.AllPartitions(apitest.Cluster, g)), p)
	for i, part := range st.AllPartitions(apitest.Cluster, g) {
		row, lag := &one.Rows[i], st.Lag(apitest.Cluster, &part)
		require.Equal(t, part.Topic, string(row.Topic))
		require.Equal(t, part.Partition, row.Partition)
		if part.Committed.Exists {
			require.Equal(t, part.Committed.At, *row.CommittedOffset)
		}
		w, seen := st.Watermark(apitest.Cluster, part.Topic, part.Partition)
		require.Equal(t, seen, row.LogEndOffset != nil, p)
		if seen {
			require.Equal(t, w.LogEnd, *row.LogEndOffset, p)
		}
		if lag.Known {
			require.Equal(t, lag.Records, *row.Lag)
			d.kinds["lags"]++
		}
		d.kinds["rows"]++
	}
}

func (d *drawn) sameDiff(t *testing.T, g string) {
	from, a := d.point()
	to, b := d.point()
	if !a.Before(b) {
		return
	}
	q := api.Query{FromPoint: from, To: to, PerPartition: true}
	all, err := d.Diff(t.Context(), q)
	if err != nil {
		return // a time of one and a sequence of the other that lie the other way round
	}
	q.Groups = []string{g}
	one, err := d.Diff(t.Context(), q)
	require.NoError(t, err)
	others := func(r api.DiffRow) bool { return string(r.Group) != g }
	require.Equal(t, slices.DeleteFunc(all.Rows, others), one.Rows, "%s to %s", from, to)
	d.kinds["moved"] += len(one.Rows)
}

func (d *drawn) sameHistory(t *testing.T, g string) {
	all, err := d.History(context.Background(), api.Query{})
	require.NoError(t, err)
	one, err := d.History(context.Background(), api.Query{Group: &g})
	require.NoError(t, err)
	own := func(rows []api.ChangeRow) []api.ChangeRow {
		return slices.DeleteFunc(rows, func(r api.ChangeRow) bool { return string(r.Group) != g })
	}
	require.Equal(t, own(all.Rows), own(one.Rows))
	d.kinds["events"] += len(one.Rows)

	lag, err := d.Lag(t.Context(), api.Query{Group: &g, Points: ptr(int64(10_000))})
	require.NoError(t, err)
	last := map[string]api.LagRow{}
	for _, r := range lag.Rows {
		last[fmt.Sprintf("%s/%d", r.Topic, r.Partition)] = r
	}
	now, err := d.Group(t.Context(), api.Query{Group: &g})
	require.NoError(t, err)
	for _, r := range now.Rows {
		if l, ok := last[fmt.Sprintf("%s/%d", r.Topic, r.Partition)]; ok && r.CommittedOffset != nil {
			require.Equal(t, r.CommittedOffset, l.CommittedOffset)
			if l.Lag != nil {
				require.Equal(t, r.Lag, l.Lag)
			}
		}
	}
}

// samePlan compares a plan of a group alone with its part in one of several.
func (d *drawn) samePlan(t *testing.T, g string) {
	to, _ := d.point()
	steps := func(groups ...api.Text) []replay.Step {
		p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Groups: groups, To: to, Direction: "both", DeleteAbsent: true, Actor: "kim"})
		if err != nil {
			return nil
		}
		i := slices.IndexFunc(p.Groups, func(x replay.PlanGroup) bool { return x.Group == g })
		return p.Groups[i].Steps
	}
	one := steps(api.Text(g))
	require.Equal(t, steps("g0", "g1", "g2"), one, to)
	d.kinds["steps"] += len(one)
}
