package replay

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// PaceSpan is the time over which [Snapshots.PaceAt] measures.
const PaceSpan = 5 * time.Minute

// Pace is how fast a group has been reading. Only reading counts: what an administrator moved
// forward, and what was moved back, does not.
type Pace struct {
	read map[ledger.TopicPartition]int64
	over time.Duration
}

// PaceAt measures how fast a group was reading before a moment, by replay from the beginning: see
// [Snapshots.PaceAt].
func PaceAt(ctx context.Context, r Reader, cluster, group string, p Point, at ledger.Time) (Pace, error) {
	return (*Snapshots)(nil).PaceAt(ctx, r, cluster, group, p, at)
}

// PaceAt measures how fast a group was reading in the [PaceSpan] before a moment, or since its
// cluster began to be captured if that is less. p is the point that is asked about, resolved: what
// happened up to it counts; at is its moment. A group that has no members then has no pace, unless it
// is one whose consumers assign their partitions themselves and never join.
func (s *Snapshots) PaceAt(ctx context.Context, r Reader, cluster, group string, p Point, at ledger.Time) (Pace, error) {
	from := at.Add(-PaceSpan)
	d, err := s.DiffBetween(ctx, r, Point{Time: from}, p, OfGroup(cluster, group), true)
	if err != nil {
		return Pace{}, fmt.Errorf("how fast group %s reads: %w", ledger.Spell(group), err)
	}
	if cover, ok := d.To.Coverage(cluster); ok {
		from = ledger.MaxTime(from, cover.Began)
	}
	pace := Pace{read: map[ledger.TopicPartition]int64{}}
	if g, _ := d.To.Group(cluster, group); !g.Simple && g.State != projection.GroupStateStable && g.State != projection.GroupStateUnknown {
		return pace, nil
	}
	pace.over, _ = at.Sub(from)
	for i := range d.Groups {
		for _, row := range d.Groups[i].Rows {
			if d.Groups[i].Group == group {
				pace.read[ledger.TopicPartition{Topic: row.Topic, Partition: row.Partition}] = row.Advanced
			}
		}
	}
	return pace, nil
}

// Drain is how long the group needs to read so many offsets of a partition, if it goes on at its
// pace: a record that is written now is read after that time. It is false if the group has not been
// reading there.
func (p Pace) Drain(topic string, partition int32, offsets int64) (time.Duration, bool) {
	read := p.read[ledger.TopicPartition{Topic: topic, Partition: partition}]
	if read <= 0 || p.over <= 0 {
		return 0, false
	}
	needs := float64(offsets) / float64(read) * float64(p.over)
	return time.Duration(min(needs, math.MaxInt64/2)), true
}
