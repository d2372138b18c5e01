package commands_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// teller makes the events of one cluster that is captured and has a manager, at random.
type teller struct {
	rt       *rapid.T
	cluster  string
	ms       int64
	position int64     // of the tail in its only source partition
	topicID  uuid.UUID // of __consumer_offsets
}

func (r *teller) number(from, to int64) int64 { return rapid.Int64Range(from, to).Draw(r.rt, "number") }

func (r *teller) event(kind ledger.Kind, source ledger.SourceKind) ledger.Event {
	r.ms += r.number(0, 50)
	ev := ledger.Event{
		ID: uuid.Must(uuid.NewV7()), Kind: kind, Cluster: r.cluster, Time: ledger.AtMillis(r.ms),
		Source: ledger.Source{Kind: source, Partition: 3},
	}
	if kind.OfGroup() && kind != ledger.KindGap {
		ev.Group = "g"
	}
	return ev
}

func (r *teller) cursor() ledger.Event {
	ev := r.event(ledger.KindCursor, ledger.SourceTail)
	ev.Cursor = &ledger.Cursor{Shard: ledger.CursorShardAll, Complete: true, TopicID: r.topicID, Lines: []ledger.SourceLine{
		{Partition: 3, Next: r.position, CompleteThrough: ev.Time, MaxEffective: ev.Time},
	}}
	return ev
}

func (r *teller) rows(ev ledger.Event, position int64) ledger.Event {
	ev.Offsets = []ledger.Offset{{Topic: "t", At: r.number(0, 5), Effective: ev.Time, CommitTime: ev.Time, SourceOffset: position}}
	return ev
}

func (r *teller) tail(kind ledger.Kind) ledger.Event {
	ev := r.event(kind, ledger.SourceTail)
	r.position++
	ev.Source.Offset = r.position
	if kind == ledger.KindDeleted {
		ev.Cause = ledger.CauseDeleted
	}
	return r.rows(ev, r.position)
}

func (r *teller) transaction() ledger.Event {
	ev := r.tail(ledger.KindCommitted)
	ev.Source.Transactional, ev.Source.ProducerID = true, 7
	ev.Offsets[0].SourceOffset = max(0, r.position-r.number(0, 3)) // it can have waited behind others
	return ev
}

func (r *teller) manager(kind ledger.Kind) ledger.Event {
	ev := r.event(kind, ledger.SourceManager)
	ev.Source.Partition, ev.Source.Instance, ev.Source.Offset = 0, "m", 1
	switch kind {
	case ledger.KindCommitted:
		ev.NotBefore = ledger.AtMillis(r.ms - r.number(0, 100))
	case ledger.KindClaim:
		ev.Claim = &ledger.Claim{Instance: "m"}
		return ev
	}
	return r.rows(ev, 1)
}

// truncated is a source partition that has lost its end: positions are given out again.
func (r *teller) truncated() ledger.Event {
	ev := r.event(ledger.KindGap, ledger.SourceTail)
	ev.Cause = ledger.CauseTruncated
	r.position = max(0, r.position-r.number(1, 5))
	ev.Gap = &ledger.Gap{SourcePartition: 3, First: r.position, Last: r.position + 10, From: ledger.AtMillis(r.ms - 10), To: ev.Time}
	return ev
}

// replaced is __consumer_offsets made anew: positions begin again.
func (r *teller) replaced() ledger.Event {
	r.topicID, r.position = uuid.New(), 0
	return r.cursor()
}

func (r *teller) any() ledger.Event {
	makers := []func() ledger.Event{
		r.cursor, r.transaction, r.truncated, r.replaced,
		func() ledger.Event { return r.tail(ledger.KindCommitted) },
		func() ledger.Event { return r.tail(ledger.KindDeleted) },
		func() ledger.Event { return r.manager(ledger.KindCommitted) },
		func() ledger.Event { return r.manager(ledger.KindUpdated) },
		func() ledger.Event { return r.manager(ledger.KindClaim) },
	}
	return makers[r.number(0, int64(len(makers)-1))]()
}

// A manager does not read all of the ledger for the offsets of its group. They are those that
// everybody else sees who does, whatever capture and managers have told in what order.
func TestRestoreIsTheFoldOfTheWholeLedger(t *testing.T) {
	log := ledgertest.New(t)
	clusters := 0
	rapid.Check(t, func(rt *rapid.T) {
		clusters++
		r := &teller{rt: rt, cluster: fmt.Sprintf("c%d", clusters), ms: 1_000_000, position: 100, topicID: uuid.New()}
		events := []ledger.Event{r.cursor()}
		for range r.number(1, 12) {
			events = append(events, r.any())
		}
		full := projection.NewState()
		for _, ev := range events {
			receipt, err := log.Append(t.Context(), []ledger.Event{ev})
			require.NoError(t, err)
			full.Skip(receipt.First - 1)
			_, err = full.Apply(ledger.Record{Seq: receipt.First, Event: ev})
			require.NoError(t, err)
		}
		cfg := config()
		cfg.Cluster, cfg.Group, cfg.KafkaCommits = r.cluster, "g", true
		got, err := newManager(t, log, cfg).Recorded(t.Context())
		require.NoError(t, err)
		require.Equal(t, plain(full.Offsets(r.cluster, "g")), plain(got))
	})
}
