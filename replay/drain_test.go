package replay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// drains is how long group g needs for so many offsets of partition 0 at a moment, -1 if nobody
// can say.
func drains(t *testing.T, log memory, at, offsets int64) time.Duration {
	pace, err := replay.PaceAt(t.Context(), log, "c", "g", replay.Point{Time: millis(at)}, millis(at))
	require.NoError(t, err)
	d, ok := pace.Drain("t", 0, offsets)
	if !ok {
		return -1
	}
	return d
}

// PRJ-15: time lag grew while a consumer was catching up, and never came down. 6000 records came at
// once; the group reads ten a second: the time to drain falls to nothing as it does so.
func TestPRJ15TheTimeToDrainABurstFalls(t *testing.T) {
	var log memory
	log.add(0, cursor(0, 0), commit("g", 1000, row(0, 0, 0, 1000)), watermarks(2000, 6000))
	for s := int64(10); s <= 600; s += 10 {
		log.add(0, commit("g", s*1000, row(0, s*10, s, s*1000)))
	}
	log.add(0, cursor(700_000, 700_000))
	for at, want := range map[int64]time.Duration{300: 300 * time.Second, 450: 150 * time.Second, 590: 10 * time.Second, 600: 0} {
		require.InDelta(t, want, drains(t, log, at*1000, 6000-at*10), float64(2*time.Second), at)
	}
	// Nothing was produced or read for long: there is no pace. And before it was captured for five
	// minutes, the pace is that of the time since.
	log.add(0, cursor(2_000_000, 2_000_000))
	require.EqualValues(t, -1, drains(t, log, 1_000_000, 10))
	require.Equal(t, 50*time.Second, drains(t, log, 60_000, 500))
}

// Only reading is a pace: neither what was set back, nor what an administrator skipped, nor another
// partition; and a group that nobody is in does not read.
func TestWhatIsNoPace(t *testing.T) {
	members := func(ms int64, ids ...string) ledger.Event {
		ev := ledger.Event{Kind: ledger.KindGroup, Cluster: "c", Group: "g", Time: millis(ms), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
			Membership: &ledger.Membership{Type: ledger.GroupTypeClassic, RecordType: ledger.RecordClassicGroup, ProtocolType: "consumer"}}
		for _, id := range ids {
			ev.Membership.Members = append(ev.Membership.Members, ledger.Member{ID: id})
		}
		return ev
	}
	var log memory
	log.add(0, cursor(0, 0), members(500, "m"), commit("g", 1000, row(0, 1000, 0, 1000), row(1, 0, 1, 1000)))
	log.add(0, members(399_000), commit("g", 400_000, row(0, 500_000, 2, 400_000), row(1, 1, 3, 400_000)), // a jump of an empty group
		commit("g", 401_000, row(0, 100, 4, 401_000)), members(402_000, "m"), cursor(500_000, 500_000))
	require.EqualValues(t, -1, drains(t, log, 410_000, 10))
	log.add(0, commit("g", 510_000, row(0, 400, 5, 510_000)), members(520_000), cursor(600_000, 600_000))
	require.Equal(t, 300*time.Second, drains(t, log, 515_000, 300))
	require.EqualValues(t, -1, drains(t, log, 530_000, 300), "nobody is in it")
}
