package replay_test

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/replay"
)

// From fourteen o'clock on a log grows by 300 records a minute. The group billing reads 100 of
// them in each of two minutes, is set back to the beginning, and reads on; audit begins late.
const fourteen = 1796047200_000

func minutes(n int64) int64 { return fourteen + n*60_000 }

func examined() memory {
	var log memory // any log will do; *stream.Log is one
	log.add(0, cursor(minutes(0), minutes(0)), watermarks(minutes(0), 300), commit("billing", minutes(1), row(0, 100, 0, minutes(1))),
		watermarks(minutes(1)+50_000, 600), commit("billing", minutes(2), row(0, 200, 1, minutes(2))), watermarks(minutes(2)+50_000, 900),
		commit("billing", minutes(3), row(0, 0, 2, minutes(3))), commit("billing", minutes(4), row(0, 50, 3, minutes(4))),
		commit("audit", minutes(4), row(0, 700, 4, minutes(4))), cursor(minutes(5), minutes(5)))
	return log
}

// How did the lag of a group go, for a plot of ten points?
func ExampleLagOver() {
	span := replay.LagRange{From: millis(minutes(1)), To: millis(minutes(5)), Points: 10}
	samples, err := replay.LagOver(context.Background(), examined(), "c", "billing", span)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range samples {
		fmt.Printf("%s %s/%d %d of %d: %d behind\n", s.Time, s.Topic, s.Partition, s.Committed.At, s.LogEnd.At, s.Lag.Records)
	}
	// Output:
	// 2026-11-30T14:01:00.000Z t/0 100 of 300: 200 behind
	// 2026-11-30T14:01:50.000Z t/0 100 of 600: 500 behind
	// 2026-11-30T14:02:00.000Z t/0 200 of 600: 400 behind
	// 2026-11-30T14:02:50.000Z t/0 200 of 900: 700 behind
	// 2026-11-30T14:03:00.000Z t/0 0 of 900: 900 behind
	// 2026-11-30T14:04:00.000Z t/0 50 of 900: 850 behind
}

// What became of the groups of a cluster between two moments?
func ExampleDiffBetween() {
	from, to := replay.Point{Time: millis(minutes(1))}, replay.Point{Time: millis(minutes(5))}
	d, err := replay.DiffBetween(context.Background(), examined(), from, to, replay.OfCluster("c"), false)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range d.Groups {
		fmt.Printf("%s: read %d, set back over %d, skipped %d, new partitions %d", g.Group, g.Advanced, g.Replayed, g.Skipped, g.Appeared)
		if delta, known := g.LagDelta(); known {
			fmt.Printf(", lag %+d", delta)
		}
		fmt.Println()
	}
	// Output:
	// billing: read 150, set back over 200, skipped 0, new partitions 0, lag +650
	// audit: read 0, set back over 0, skipped 0, new partitions 1
}

// Since when does the record wait that a group comes to next?
func ExampleBacklog() {
	log, at := examined(), millis(minutes(5))
	for _, group := range []string{"audit", "billing"} {
		s, err := replay.StateAt(context.Background(), log, replay.Point{Time: at}, replay.OfGroup("c", group))
		if err != nil {
			fmt.Println(err)
			return
		}
		backlog := replay.NewBacklog("c", at)
		for _, p := range s.Partitions("c", group) {
			backlog.Ask(s, &p)
		}
		if err := backlog.Find(context.Background(), log); err != nil {
			fmt.Println(err)
			return
		}
		w, found := backlog.Since("t", 0)
		fmt.Printf("%s: since %s (found: %t), or longer: %t\n", group, w.Since, found, w.Longer)
	}
	// Output:
	// audit: since 2026-11-30T14:02:50.000Z (found: true), or longer: false
	// billing: since 2026-11-30T14:00:00.000Z (found: true), or longer: true
}

// Where nobody can say how old the next record is: how long does a group need for all that is there?
func ExamplePaceAt() {
	at := millis(minutes(5))
	pace, err := replay.PaceAt(context.Background(), examined(), "c", "billing", replay.Point{Time: at}, at)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, group := range []struct {
		partition int32
		behind    int64
	}{{0, 850}, {1, 10}} {
		drain, ok := pace.Drain("t", group.partition, group.behind)
		fmt.Println(drain.Round(time.Second), ok)
	}
	// Output:
	// 28m20s true
	// 0s false
}
