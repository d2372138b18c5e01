package replay_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// waiting is what is found of partition 0 of group g at a point: since when, in milliseconds, and
// whether it can be longer.
func waiting(t require.TestingT, log memory, p replay.Point) (since int64, longer, asked bool) {
	ctx, sc := context.Background(), replay.OfGroup("c", "g")
	st, err := replay.StateAt(ctx, log, p, sc)
	require.NoError(t, err)
	b := replay.NewBacklog("c", p.Time)
	for _, part := range st.Partitions("c", "g") {
		asked = b.Ask(st, &part) && part.Partition == 0 || asked
	}
	require.NoError(t, b.Find(ctx, log))
	w, found := b.Since("t", 0)
	require.Equal(t, asked, found)
	if !found {
		return 0, false, asked
	}
	since, _ = w.Since.Millis()
	return since, w.Longer, asked
}

// The log grows to 300 while g stands at 150: the record waits since the observation that first
// found it there. Each point is asked by its time and by its sequence.
func TestSinceWhenTheNextRecordWaits(t *testing.T) {
	var log memory
	log.add(0, cursor(500, 400), watermarks(600, 100), commit("g", 1000, row(0, 50, 0, 1000)), watermarks(2000, 150),
		watermarks(3000, 200), commit("g", 3500, row(0, 150, 1, 3500)), watermarks(4000, 300), commit("g", 5000, row(0, 300, 2, 5000)),
		commit("g", 6000, row(0, 20, 3, 6000)), cursor(9000, 8000))
	for _, c := range []struct {
		seq           uint64
		at, since     int64
		longer, asked bool
	}{
		{3, 1500, 600, true, true},   // it was there when the log was first looked at
		{4, 2500, 600, true, true},   // it still is
		{7, 4500, 3000, false, true}, // not yet at 2000, when the log ended just there
		{8, 5500, 0, false, false},   // everything is read
		{9, 6500, 600, true, true},   // and after a rewind waits again
	} {
		for _, p := range []replay.Point{{Seq: c.seq}, {Time: millis(c.at)}} {
			since, longer, asked := waiting(t, log, p)
			require.Equal(t, c.asked, asked, p)
			require.Equal(t, c.since, since, p)
			require.Equal(t, c.longer, longer, p)
		}
	}
}

// The logs of a topic that was deleted and made again say nothing of the records of the new one.
func TestAnotherTopicOfTheNameHoldsOtherRecords(t *testing.T) {
	var log memory
	log.add(0, cursor(500, 400), watermarks(600, 1000), topicEvent(1000, ledger.TopicInfo{Deleted: true}),
		topicEvent(2000, ledger.TopicInfo{Partitions: 1}), watermarks(3000, 10), commit("g", 4000, row(0, 5, 0, 4000)))
	since, longer, asked := waiting(t, log, replay.Point{Seq: 6})
	require.True(t, asked)
	require.EqualValues(t, 3000, since)
	require.False(t, longer, "the log was empty when the topic was made")
}

func topicEvent(ms int64, info ledger.TopicInfo) ledger.Event {
	return ledger.Event{Kind: ledger.KindTopic, Cluster: "c", Topic: "t", Time: millis(ms), Source: ledger.Source{Kind: ledger.SourceTail}, TopicInfo: &info}
}

// observation is what a log that is drawn says of partition 0.
type observation struct {
	seq uint64
	ms  int64
	end int64 // -1: the topic was made again
}

// Of any log and at any point, what is found by looking back is what a list of all observations
// says. Much else lies between them, so that several looks are needed.
func TestSinceWhenIsWhatAllObservationsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log memory
		var told []observation
		now, position := int64(1000), int64(0)
		log.add(0, cursor(now, now), watermarks(now, 5), commit("g", now, row(0, 3, position, now)))
		told = append(told, observation{2, now, 5})
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			now += rapid.Int64Range(1, 1000).Draw(t, "pause")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				position++
				log.add(0, commit("g", now, row(0, rapid.Int64Range(0, 6).Draw(t, "at"), position, now)))
			case 1:
				if rapid.IntRange(0, 3).Draw(t, "anew") == 0 {
					id := uuid.UUID{byte(now), byte(now >> 8), byte(now >> 16), 1}
					log.add(0, topicEvent(now, ledger.TopicInfo{TopicID: id, Recreated: true, Partitions: 1}))
					told = append(told, observation{uint64(len(log)), now, -1})
				}
			case 2:
				for range rapid.IntRange(0, 900).Draw(t, "others") {
					log.add(0, commit("other", now, row(0, 1, position, now)))
				}
			default:
				end := rapid.Int64Range(0, 9).Draw(t, "end")
				log.add(0, watermarks(now, end))
				told = append(told, observation{uint64(len(log)), now, end})
			}
		}
		log.add(0, cursor(now+1, now+1))
		p := replay.Point{Seq: rapid.Uint64Range(3, uint64(len(log))).Draw(t, "seq")}
		if rapid.Bool().Draw(t, "by time") {
			p = replay.Point{Time: millis(rapid.Int64Range(1000, now).Draw(t, "time"))}
		}
		since, longer, asked := waiting(t, log, p)
		if !asked {
			return
		}
		st, err := replay.StateAt(t.Context(), log, p, replay.OfGroup("c", "g"))
		require.NoError(t, err)
		part, _ := st.Partition("c", "g", "t", 0)
		want, wantLonger := naively(told, p, part.Committed.At)
		require.Equal(t, want, since)
		require.Equal(t, wantLonger, longer)
	})
}

// naively goes through all observations up to a point, the last first.
func naively(told []observation, p replay.Point, committed int64) (since int64, longer bool) {
	for i := len(told) - 1; i >= 0; i-- {
		o := told[i]
		if p.Seq > 0 && o.seq > p.Seq || p.Time.Known() && millis(o.ms).After(p.Time) {
			continue
		}
		if o.end <= committed {
			return since, false
		}
		since = o.ms
	}
	return since, true
}
