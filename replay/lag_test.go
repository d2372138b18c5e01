package replay_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// requireLagOfStates holds every sample against the state at its moment.
func requireLagOfStates(t require.TestingT, log memory, span replay.LagRange) {
	samples, err := replay.LagOver(context.Background(), log, "c", "g", span)
	require.NoError(t, err)
	for _, s := range samples {
		st := stateAt(t, log, replay.Point{Time: s.Time}, replay.OfGroup("c", "g"))
		p, ok := st.Partition("c", "g", s.Topic, s.Partition)
		require.True(t, ok, "at %s", s.Time)
		require.Equal(t, p.Committed, s.Committed, "at %s", s.Time)
		require.Equal(t, st.Lag("c", &p), s.Lag, "at %s", s.Time)
	}
}

// A commit of before an outage is recorded after it, and after the log was looked at again: it is
// told with the log as it was observed before, and so is what the observation after it found.
func TestLagOfAnOutage(t *testing.T) {
	var log memory
	log.add(0, cursor(500, 400), watermarks(600, 100), commit("g", 1000, row(0, 90, 0, 1000)))
	log.add(60_000, watermarks(60_000, 800), commit("g", 3000, row(0, 95, 1, 3000)), cursor(70_000, 69_000))
	span := replay.LagRange{From: millis(500), To: millis(65_000), Points: 1000}
	requireLagOfStates(t, log, span)
	samples, err := replay.LagOver(t.Context(), log, "c", "g", span)
	require.NoError(t, err)
	require.Len(t, samples, 3)
	require.EqualValues(t, []int64{10, 5, 705}, []int64{samples[0].Lag.Records, samples[1].Lag.Records, samples[2].Lag.Records})
}

// Commits and observations are recorded side by side, and not quite in the order in which they came
// true. The lag over a range is that of the state at each of its moments all the same.
func TestLagIsToldInTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type told struct{ at, recorded int64 }
		var log memory
		log.add(0, cursor(500, 400), watermarks(600, 1000), commit("g", 700, row(0, 10, 0, 700)))
		var commits, looks []told
		for i := range int64(rapid.IntRange(1, 30).Draw(t, "events")) {
			at := 1000 + 50*i
			e := told{at, at + int64(rapid.IntRange(1, 400).Draw(t, "late"))}
			if rapid.Bool().Draw(t, "commit") {
				commits = append(commits, e)
			} else {
				looks = append(looks, e)
			}
		}
		inOrder := func(of []told) { // each is told by one who reads in order
			for i := range of[min(1, len(of)):] {
				of[i+1].recorded = max(of[i+1].recorded, of[i].recorded)
			}
		}
		inOrder(commits)
		inOrder(looks)
		at, end := int64(10), int64(1000)
		for len(commits)+len(looks) > 0 {
			if len(looks) == 0 || len(commits) > 0 && commits[0].recorded <= looks[0].recorded {
				at += 7
				log.add(commits[0].recorded, commit("g", commits[0].at, row(0, at, at, commits[0].at)))
				commits = commits[1:]
				continue
			}
			end += 11
			log.add(looks[0].recorded, watermarks(looks[0].at, end))
			looks = looks[1:]
		}
		log.add(9000, cursor(9000, 8900))
		requireLagOfStates(t, log, replay.LagRange{From: millis(700), To: millis(8000), Points: 8000})
	})
}
