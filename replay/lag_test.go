package replay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// lagLog is a group that reads, is overtaken by its log, catches up, and once commits while
// nobody looked at the log.
func lagLog() memory {
	var log memory
	log.add(0, cursor(500, 400), watermarks(600, 100), commit("g", 1000, row(0, 90, 0, 1000), row(1, 5, 1, 1000)))
	for i := range int64(100) {
		log.add(0, watermarks(2000+i*10, 100+i*(100-i))) // up to 2600 and back, as only a test can
	}
	log.add(0, commit("g", 3500, row(0, 100, 2, 3500)), watermarks(3600, 500), cursor(9000, 8000), commit("g", 9500, row(0, 1, 3, 9500)))
	return log
}

func lagOver(t *testing.T, log memory, points int) (out [][2]int64) {
	t.Helper()
	samples, err := replay.LagOver(t.Context(), log, "c", "g", replay.LagRange{
		From: millis(1500), To: millis(5000), Points: points, Wants: func(_ string, partition int32) bool { return partition == 0 }})
	require.NoError(t, err)
	for _, s := range samples {
		require.True(t, s.Lag.Known, s)
		ms, _ := s.Time.Millis()
		out = append(out, [2]int64{ms, s.Lag.Records})
	}
	return out
}

// The lag begins with what it was, and however few points are asked for, its greatest and least
// are there at their own times; with enough of them every change is.
func TestLagOverARangeKeepsItsExtremes(t *testing.T) {
	few := lagOver(t, lagLog(), 1)
	require.Equal(t, [2]int64{1500, 10}, few[0])
	require.Contains(t, few, [2]int64{2500, 2510})
	require.Equal(t, [2]int64{3600, 400}, few[len(few)-1])
	require.Len(t, lagOver(t, lagLog(), 3500), 103)
	for _, points := range []int{2, 5, 50} {
		got := lagOver(t, lagLog(), points)
		require.Contains(t, got, [2]int64{2500, 2510}, points)
		require.LessOrEqual(t, len(got), 3*points)
		for i := 1; i < len(got); i++ {
			require.LessOrEqual(t, got[i-1][0], got[i][0])
		}
	}
}

// Every sample is what the state at its moment says.
func TestLagOverARangeIsThatOfTheStates(t *testing.T) {
	log := lagLog()
	for _, s := range lagOver(t, log, 3500) {
		st := stateAt(t, log, replay.Point{Time: millis(s[0])}, replay.OfGroup("c", "g"))
		p, ok := st.Partition("c", "g", "t", 0)
		require.True(t, ok)
		require.Equal(t, st.Lag("c", &p).Records, s[1], s)
	}
}

// A commit that was recorded after an outage has no lag: its log was looked at only later.
func TestLagOfAnOutageIsNotKnown(t *testing.T) {
	var log memory
	log.add(0, cursor(500, 400), watermarks(600, 100), commit("g", 1000, row(0, 90, 0, 1000)))
	log.add(6000, watermarks(6000, 800), commit("g", 3000, row(0, 95, 1, 3000)), cursor(7000, 6900))
	samples, err := replay.LagOver(t.Context(), log, "c", "g", replay.LagRange{From: millis(500), To: millis(6500), Points: 100})
	require.NoError(t, err)
	require.Len(t, samples, 3)
	require.Equal(t, projection.Lag{Known: true, Records: 10, Readable: 10}, samples[0].Lag)
	require.Equal(t, projection.Lag{Why: "the log was not observed at that time"}, samples[1].Lag)
	require.Equal(t, projection.Value{At: 95, Exists: true}, samples[1].Committed)
	require.EqualValues(t, 710, samples[2].Lag.Records)
}
