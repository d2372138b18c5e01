package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// Sample is what was seen of __consumer_offsets while it was watched.
type Sample struct {
	// RowsPerSecond is how many offsets are committed or deleted. Where the records cannot be
	// read, all of them count as one.
	RowsPerSecond float64

	rows, events int // that the records read would make
}

// RowsPerEvent is how many rows one event holds. It is false if no event was seen.
func (s Sample) RowsPerEvent() (float64, bool) {
	return float64(s.rows) / float64(max(s.events, 1)), s.events > 0
}

// usualRows is how many rows an event is taken to hold as long as none was seen.
const usualRows = 10

// onDisk is what an event of so many rows takes in the ledger, all framing included and
// compressed: BenchmarkDisk of the stream measures it.
var onDisk = []struct{ rows, bytes float64 }{{1, 104}, {10, 122}, {100, 570}}

// BytesPerRow is what a row takes on disk in events of the size that was seen, or of ten rows
// if none was.
func (s Sample) BytesPerRow() float64 {
	rows, ok := s.RowsPerEvent()
	if !ok {
		rows = usualRows
	}
	i := 1
	for i < len(onDisk)-1 && onDisk[i].rows < rows {
		i++
	}
	a, b := onDisk[i-1], onDisk[i]
	return (a.bytes + (b.bytes-a.bytes)*(rows-a.rows)/(b.rows-a.rows)) / rows
}

// BytesPerDay is what the ledger grows by at this rate, watermarks aside.
func (s Sample) BytesPerDay() float64 { return s.RowsPerSecond * s.BytesPerRow() * 24 * 3600 }

// WatermarkBytesPerDay is what the watermarks of so many partitions take on disk in a day if
// all of them move in every interval of ten seconds, the most that it can be:
// BenchmarkWatermarksOnDisk measures it.
func WatermarkBytesPerDay(partitions int) float64 { return 27_500 * float64(partitions) }

// The records of a sample that are read, and how long that may take.
const (
	sampleRecords = 50_000
	sampleWait    = 3 * time.Second
)

// SampleSource watches __consumer_offsets for a while: how much is written to it, which capture
// has to keep up with, and in events of which size, which a ledger grows by. It needs the right
// to describe the topic, and the one to read it for the size of events. options say how to
// reach the cluster.
func SampleSource(ctx context.Context, options []kgo.Opt, over time.Duration) (Sample, error) {
	s, err := sampleSource(ctx, options, over)
	if err != nil {
		return Sample{}, fmt.Errorf("rate of %s: %w", offsetsTopic, err)
	}
	return s, nil
}

func sampleSource(ctx context.Context, options []kgo.Opt, over time.Duration) (s Sample, err error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return s, err
	}
	defer client.Close()
	first, err := sourceEnds(ctx, client)
	if err != nil {
		return s, err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return s, ctx.Err()
	case <-time.After(over):
	}
	last, err := sourceEnds(ctx, client)
	if err != nil {
		return s, err
	}
	seconds := time.Since(began).Seconds()
	written := int64(0)
	for p, end := range last {
		if written += end - first[p]; end == first[p] {
			delete(last, p)
		}
	}
	s.RowsPerSecond = float64(written) / seconds
	if read := s.read(ctx, options, first, last); read > 0 {
		s.RowsPerSecond *= float64(s.rows) / float64(read)
	}
	return s, nil
}

// sourceEnds are the ends of the source partitions.
func sourceEnds(ctx context.Context, client *kgo.Client) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	listed, err := kadm.NewClient(client).ListEndOffsets(ctx, offsetsTopic)
	if err != nil {
		return nil, err
	}
	if err := listed.Error(); err != nil {
		return nil, err
	}
	ends := map[int32]int64{}
	for p, o := range listed[offsetsTopic] {
		ends[p] = o.Offset
	}
	return ends, nil
}

// read makes events of the records from first to last, as capture would, and counts them and
// their rows. It returns how many records it has read: not all of them if they are too many or
// do not come in time.
func (s *Sample) read(ctx context.Context, options []kgo.Opt, first, last map[int32]int64) (records int64) {
	if len(last) == 0 {
		return 0
	}
	from, lines := map[int32]kgo.Offset{}, map[int32]*sourceLine{}
	shared := &lineShared{out: &batch{}}
	for p := range last {
		from[p], lines[p] = kgo.NewOffset().At(first[p]), newLine(shared, p, first[p])
	}
	opts := append(slices.Clip(options), fetchOptions(map[string]map[int32]kgo.Offset{offsetsTopic: from})...)
	consumer, err := kgo.NewClient(opts...)
	if err != nil {
		return 0
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(ctx, sampleWait)
	defer cancel()
	left := maps.Clone(last)
	for len(left) > 0 && records < sampleRecords {
		now := ledger.AtTime(time.Now())
		fetches := consumer.PollRecords(ctx, sampleRecords)
		if fetches.Err() != nil {
			break // out of time, or it may not be read
		}
		fetches.EachRecord(func(r *kgo.Record) {
			l := lines[r.Partition]
			if l == nil || r.Offset >= last[r.Partition] {
				return
			}
			records++
			rec := fetched(r)
			for l.read <= rec.offset && l.feed(&rec, now) == nil {
				s.count(shared.out)
			}
			if l.read >= last[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	for _, l := range lines {
		l.flush(ledger.AtTime(time.Now()))
	}
	s.count(shared.out)
	return records
}

// count takes the events of b.
func (s *Sample) count(b *batch) {
	for i := range b.events {
		if n := len(b.events[i].Offsets); n > 0 {
			s.rows += n
			s.events++
		}
	}
	b.reset()
}
