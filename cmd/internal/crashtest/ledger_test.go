package crashtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
)

// audit reads a ledger and compares it with what a broker wrote.
type audit struct {
	t *testing.T
	b *broker

	told    map[position]bool
	marker  map[int32]int64              // source offset of the last event by source partition
	order   map[int32][]int64            // of written records
	untold  map[int32]map[int64]struct{} // written before the cursor, and not told
	at      map[int32]int                // index in order that the cursor has come to
	next    map[int32]int64              // where the last cursor stands
	cursors int
	history map[key][]value
}

// readAll calls read with every record of the ledger in dir.
func readAll(t *testing.T, dir string, read func(*ledger.Record)) {
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	ledgertest.Check(t, srv.Conn(), stream.Config{})
	log, err := stream.Open(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		read(&rec)
	}
}

// auditLedger fails the test unless the ledger in dir tells all that the broker wrote: every
// record once, as it was written, in order, with cursors that agree, and with a fold that went
// through the very values that clients could read.
func auditLedger(t *testing.T, b *broker, dir string) *audit {
	a := &audit{
		t: t, b: b, told: map[position]bool{}, marker: map[int32]int64{}, order: b.inOrder(),
		untold: map[int32]map[int64]struct{}{}, at: map[int32]int{}, next: map[int32]int64{}, history: map[key][]value{},
	}
	state := projection.NewState()
	var seq uint64
	readAll(t, dir, func(rec *ledger.Record) {
		require.Equal(t, seq+1, rec.Seq, "sequences have no hole")
		seq = rec.Seq
		a.event(rec)
		changes, err := state.Apply(*rec)
		require.NoError(t, err)
		for _, c := range changes {
			k := key{c.Group, c.Topic, c.Partition}
			a.history[k] = append(a.history[k], value{c.To.Exists, c.To.At, c.Metadata})
		}
	})
	require.Len(t, a.told, len(b.records), "every record is told")
	a.compareFold(state)
	return a
}

func (a *audit) event(rec *ledger.Record) {
	e := &rec.Event
	switch e.Kind {
	case ledger.KindCommitted, ledger.KindDeleted, ledger.KindFailed:
		a.inOrder(e)
		for i := range e.Offsets {
			a.row(rec.Seq, e, &e.Offsets[i])
		}
	case ledger.KindGroup:
		a.inOrder(e)
		w := a.tell(rec.Seq, position{e.Source.Partition, e.Source.Offset})
		require.Equal(a.t, membership, w.kind)
		require.Equal(a.t, w.group, e.Group)
	case ledger.KindOpaque:
		a.inOrder(e)
		w := a.tell(rec.Seq, position{e.Source.Partition, e.Source.Offset})
		require.Equal(a.t, garbage, w.kind)
	case ledger.KindCursor:
		a.cursor(rec.Seq, e.Cursor)
	case ledger.KindGap:
		require.Fail(a.t, "a gap", "seq %d: %+v", rec.Seq, e.Gap)
	}
}

// inOrder checks that an event stands behind those before it. One marker can have told of
// several groups.
func (a *audit) inOrder(e *ledger.Event) {
	before, ok := a.marker[e.Source.Partition]
	if ok && e.Source.Transactional {
		before--
	}
	require.True(a.t, !ok || e.Source.Offset > before, "source partition %d: an event of %d after one of %d",
		e.Source.Partition, e.Source.Offset, before)
	a.marker[e.Source.Partition] = e.Source.Offset
}

// tell marks a record as told and returns it. It was written, and not told before.
func (a *audit) tell(seq uint64, p position) written {
	w, ok := a.b.records[p]
	require.True(a.t, ok, "seq %d tells of %+v, which nobody wrote", seq, p)
	require.False(a.t, a.told[p], "seq %d tells of %+v a second time", seq, p)
	require.GreaterOrEqual(a.t, p.offset+1, a.oldestOpen(p), "seq %d tells of %+v, which a cursor had passed", seq, p)
	a.told[p] = true
	delete(a.untold[p.partition], p.offset)
	return w
}

// oldestOpen is the position that an event may tell of at the least: what a cursor has passed
// is told, but for what waited for the end of its transaction.
func (a *audit) oldestOpen(p position) int64 {
	if _, waits := a.untold[p.partition][p.offset]; waits {
		return p.offset
	}
	return a.next[p.partition]
}

// row checks a row against the record that it tells of.
func (a *audit) row(seq uint64, e *ledger.Event, o *ledger.Offset) {
	w := a.tell(seq, position{e.Source.Partition, o.SourceOffset})
	want := ledger.KindCommitted
	switch {
	case w.kind == tombstone:
		want = ledger.KindDeleted
	case w.txn != nil && w.txn.aborted:
		want = ledger.KindFailed
	}
	require.Equal(a.t, want, e.Kind, "seq %d", seq)
	require.Equal(a.t, w.txn != nil, e.Source.Transactional, "seq %d", seq)
	require.Equal(a.t, w.key, key{e.Group, o.Topic, o.Partition}, "seq %d", seq)
	if w.kind == tombstone {
		return
	}
	require.Equal(a.t, w.at, o.At, "seq %d", seq)
	require.Equal(a.t, w.metadata, o.Metadata, "seq %d", seq)
	require.Equal(a.t, w.epoch, o.LeaderEpoch.Kafka(), "seq %d", seq)
	require.Equal(a.t, ledger.AtMillis(w.time), o.CommitTime, "seq %d", seq)
	require.Equal(a.t, a.b.ids[w.topic], o.TopicID, "seq %d", seq)
}

// cursor checks that everything before a cursor's position is told, but for the rows of the
// transactions that it says are open, and nothing behind it.
func (a *audit) cursor(seq uint64, c *ledger.Cursor) {
	a.cursors++
	for i := range c.Lines {
		l := &c.Lines[i]
		p := l.Partition
		require.GreaterOrEqual(a.t, l.Next, a.next[p], "seq %d: the cursor of source partition %d went back", seq, p)
		a.next[p] = l.Next
		a.advance(p, l.Next)
		if a.at[p] < len(a.order[p]) {
			behind := position{p, a.order[p][a.at[p]]}
			require.False(a.t, a.told[behind], "seq %d: %+v is told and the cursor stands before it", seq, behind)
		}
		waiting := map[int64]struct{}{}
		for _, open := range l.Open {
			tx := a.b.records[position{p, open.First}].txn
			require.NotNil(a.t, tx, "seq %d: the cursor tells of a transaction at %d/%d, where none begins", seq, p, open.First)
			for _, row := range tx.rows {
				if row.partition == p && row.offset < l.Next {
					waiting[row.offset] = struct{}{}
				}
			}
		}
		require.Equal(a.t, waiting, a.untold[p], "seq %d: before the cursor of source partition %d", seq, p)
	}
}

// advance takes what was written before position next into account.
func (a *audit) advance(p int32, next int64) {
	if a.untold[p] == nil {
		a.untold[p] = map[int64]struct{}{}
	}
	for ; a.at[p] < len(a.order[p]) && a.order[p][a.at[p]] < next; a.at[p]++ {
		if offset := a.order[p][a.at[p]]; !a.told[position{p, offset}] {
			a.untold[p][offset] = struct{}{}
		}
	}
}

// compareFold checks where every key stands, and the values that it went through.
func (a *audit) compareFold(state *projection.State) {
	for k, want := range a.b.history {
		got := a.history[k]
		for i := range got {
			if !got[i].exists {
				got[i] = value{} // what a tombstone leaves of the row before is not its value
			}
		}
		require.Equal(a.t, want, got, "%+v", k)
		last := want[len(want)-1]
		p, ok := state.Partition(cluster, k.group, k.topic, k.partition)
		require.True(a.t, ok, "%+v", k)
		require.Equal(a.t, last.exists, p.Committed.Exists, "%+v", k)
		if last.exists {
			require.Equal(a.t, last, value{true, p.Committed.At, p.Metadata}, "%+v", k)
		}
		require.Nil(a.t, p.Pending, "%+v", k)
	}
	for k := range a.history {
		require.NotEmpty(a.t, a.b.history[k], "%+v was never visible", k)
	}
}
