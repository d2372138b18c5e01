package commands_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// managerModel is a manager as its documentation has it, without a ledger.
type managerModel struct {
	committed, pending map[ledger.TopicPartition]int64
	checkpoints        map[string]map[ledger.TopicPartition]int64
	updates            map[ledger.TopicPartition][]int64 // all that were taken
}

// Whatever is done to a manager, it says what the model says; every update that it took is in
// the ledger, once and in order; and a second manager restores exactly what the first one
// committed.
func TestAManagerIsItsModel(t *testing.T) {
	t.Parallel() // it waits for the disk
	log := ledgertest.New(t)
	group := 0
	rapid.Check(t, func(rt *rapid.T) {
		group++
		cfg := config()
		cfg.Group = fmt.Sprintf("g%d", group)
		m := newManager(t, log, cfg)
		mo := &managerModel{
			committed: map[ledger.TopicPartition]int64{}, pending: map[ledger.TopicPartition]int64{},
			checkpoints: map[string]map[ledger.TopicPartition]int64{}, updates: map[ledger.TopicPartition][]int64{},
		}
		key := rapid.Custom(func(t *rapid.T) ledger.TopicPartition {
			return tp(rapid.SampledFrom([]string{"orders", "refunds", "x"}).Draw(t, "topic"), rapid.Int32Range(0, 3).Draw(t, "partition"))
		})
		name := rapid.SampledFrom([]string{"a", "b"})
		rt.Repeat(map[string]func(*rapid.T){
			"update": func(rt *rapid.T) {
				k, at := key.Draw(rt, "key"), rapid.Int64Range(0, 50).Draw(rt, "at")
				err := m.UpdateOffset(k.Topic, k.Partition, at)
				if c, ok := mo.committed[k]; ok && at < c {
					require.ErrorIs(t, err, commands.ErrBehind)
					return
				}
				require.NoError(t, err)
				mo.pending[k] = at
				mo.updates[k] = append(mo.updates[k], at)
			},
			"commit": func(*rapid.T) {
				n, err := m.Commit(t.Context())
				require.NoError(t, err)
				require.Equal(t, len(mo.pending), n)
				for k, at := range mo.pending {
					mo.committed[k] = at
				}
				clear(mo.pending)
			},
			"reset": func(rt *rapid.T) {
				k, at := key.Draw(rt, "key"), rapid.Int64Range(0, 50).Draw(rt, "at")
				got, err := m.ResetOffset(t.Context(), k.Topic, k.Partition, commands.Specific(at))
				require.NoError(t, err)
				require.Equal(t, at, got)
				mo.committed[k] = at
				delete(mo.pending, k)
			},
			"clear": func(rt *rapid.T) {
				if rapid.IntRange(0, 4).Draw(rt, "rarely") > 0 {
					return
				}
				require.NoError(t, m.Clear(t.Context()))
				clear(mo.committed)
				clear(mo.pending)
			},
			"checkpoint": func(rt *rapid.T) {
				name := name.Draw(rt, "name")
				c, err := m.Checkpoint(t.Context(), name)
				require.NoError(t, err)
				mo.checkpoints[name] = map[ledger.TopicPartition]int64{}
				for k, at := range mo.committed {
					mo.checkpoints[name][k] = at
				}
				require.Equal(t, mo.checkpoints[name], plain(c.Offsets))
				require.NotZero(t, c.Seq)
			},
			"restore checkpoint": func(rt *rapid.T) {
				name := name.Draw(rt, "name")
				n, err := m.RestoreCheckpoint(t.Context(), name)
				rows, ok := mo.checkpoints[name]
				if !ok {
					require.ErrorIs(t, err, commands.ErrUnknown)
					return
				}
				require.NoError(t, err)
				require.Equal(t, len(rows), n)
				for k, at := range rows {
					mo.committed[k] = at
					delete(mo.pending, k)
				}
			},
			"restart": func(rt *rapid.T) {
				before := m.Committed()
				closed := rapid.Bool().Draw(rt, "closed")
				if closed {
					require.NoError(t, m.Close(t.Context()))
				} else { // what it had not recorded is gone with it
					for k, all := range mo.updates {
						mo.updates[k] = all[:len(recordedOf(t, log, cfg.Group, k))]
					}
				}
				m = newManager(t, log, cfg)
				n, err := m.Restore(t.Context())
				require.NoError(t, err)
				require.Equal(t, len(before), n)
				require.Equal(t, before, m.Committed())
				clear(mo.pending)
			},
			"": func(*rapid.T) {
				require.Equal(t, mo.committed, plain(m.Committed()))
				require.Equal(t, mo.pending, plain(m.Pending()))
			},
		})
		require.NoError(t, m.Close(t.Context()))
		for k, all := range mo.updates {
			require.Equal(t, all, append([]int64{}, recordedOf(t, log, cfg.Group, k)...), k)
		}
	})
}

// recordedOf is recorded for one group of many.
func recordedOf(t *testing.T, log commands.Log, group string, k ledger.TopicPartition) []int64 {
	t.Helper()
	own := ledger.Filter{Subjects: []string{ledger.GroupSubjects("prod", group)}}
	var out []int64
	for rec, err := range log.Read(t.Context(), 1, 0, own) {
		require.NoError(t, err)
		rows := rec.Event.Updates
		if rec.Event.Kind == ledger.KindUpdated {
			rows = rec.Event.Offsets
		}
		for _, r := range rows {
			if r.Topic == k.Topic && r.Partition == k.Partition {
				out = append(out, r.At)
			}
		}
	}
	return out
}

// What is restored is what anybody else reads in the ledger, however the server was stopped in
// between.
func TestRestoreAfterACrash(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	require.NoError(t, m.Update(commands.Update{Topic: "orders", Partition: 4, Offset: 17, Metadata: "m", LeaderEpoch: ledger.EpochOf(2)}))
	require.NoError(t, m.UpdateOffset("orders", 5, 3))
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	_, err = m.ResetOffset(t.Context(), "orders", 5, commands.Specific(1))
	require.NoError(t, err)
	require.NoError(t, m.UpdateOffset("orders", 4, 18), "not committed, and so not restored")
	want := m.Committed()
	log.Crash()

	second := newManager(t, log, config())
	n, err := second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, want, second.Committed())

	state := projection.NewState()
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		_, err = state.Apply(rec)
		require.NoError(t, err)
	}
	require.Equal(t, want, state.Offsets("prod", "billing"))
}

// A daemon captures the cluster beside a manager: a reset that the tail tells too, and that the
// group has moved on from before its event was stored, counts once and at its place.
func TestRestoreBesideCapture(t *testing.T) {
	log := ledgertest.New(t)
	at := func(ms int64) ledger.Time { return ledger.AtMillis(1_764_500_000_000 + ms) }
	tail := ledger.Source{Kind: ledger.SourceTail, Partition: 7}
	row := func(at int64, when ledger.Time) []ledger.Offset {
		return []ledger.Offset{{Topic: "orders", At: at, CommitTime: when, Effective: when, SourceOffset: at}}
	}
	append := func(e ledger.Event) {
		e.Cluster = "prod"
		if e.Kind != ledger.KindCursor {
			e.Group = "billing"
		}
		_, err := log.Append(t.Context(), []ledger.Event{e})
		require.NoError(t, err)
	}
	append(ledger.Event{Kind: ledger.KindCursor, Time: at(0), Source: tail, Cursor: &ledger.Cursor{
		Shard: "0", Complete: true, Lines: []ledger.SourceLine{{Partition: 7, Next: 1}},
	}})
	append(ledger.Event{Kind: ledger.KindCommitted, Time: at(1), Source: tail, Offsets: row(100, at(1))})
	operator := ledger.Source{Kind: ledger.SourceOperator}
	append(ledger.Event{Kind: ledger.KindIntent, Time: at(2), Source: operator, Plan: "p1", Offsets: row(40, at(2))})
	append(ledger.Event{Kind: ledger.KindCommitted, Time: at(3), Source: tail, Offsets: row(40, at(3))})
	append(ledger.Event{Kind: ledger.KindCommitted, Time: at(4), Source: tail, Offsets: row(45, at(4))})
	append(ledger.Event{Kind: ledger.KindReset, Time: at(5), Source: operator, Plan: "p1", Offsets: row(40, at(5))})

	cfg := config()
	cfg.KafkaCommits = true
	m := newManager(t, log, cfg)
	_, err := m.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(45), offset(t, m, "orders", 0))
	require.Empty(t, events(t, log, ledger.KindClaim), "members of a group write side by side")
}

func TestRestoreOfAnEmptyLedger(t *testing.T) {
	m := newManager(t, ledgertest.New(t), config())
	n, err := m.Restore(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, m.Committed())
	require.NoError(t, m.Clear(t.Context()))
	require.Equal(t, commands.Stats{}, m.Stats())
}
