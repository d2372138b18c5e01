package kafka

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// How long the reading goroutine waits for records before it looks at anything else, also
// while an append is going on; and how long it keeps a cursor that moved without an event:
// past a transaction's rows, or past records that are only counted.
const (
	pollWait   = 25 * time.Millisecond
	appendWait = 3 * time.Millisecond
	cursorWait = 250 * time.Millisecond
)

// read polls Kafka and gives what it makes of the records to the appending goroutine.
func (t *Tail) read(ctx context.Context) error {
	if t.foundTopic != uuid.Nil {
		for _, c := range t.cfg.Resume.Cursor.Lines {
			t.lines[c.Partition] = resumeLine(&t.shared, c, t.cfg.Resume.Told[c.Partition])
		}
		if err := t.recreated(ctx, t.foundTopic); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		select {
		case o := <-t.observed:
			if err := t.takeObservation(ctx, o); err != nil {
				return err
			}
		default:
		}
		if err := t.poll(ctx); err != nil {
			return err
		}
		if err := t.settleHoles(ctx); err != nil {
			return err
		}
		if t.due() {
			if err := t.send(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// poll takes what has been fetched, or waits a little for it.
func (t *Tail) poll(ctx context.Context) error {
	wait := pollWait
	switch {
	case len(t.spare) == 0:
		wait = appendWait
	case !t.shared.out.empty():
		wait = max(0, min(wait, t.cfg.Linger-time.Since(t.began)))
	}
	pollCtx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if t.consumer == nil {
		<-pollCtx.Done()
		return nil
	}
	fetches := t.consumer.PollFetches(pollCtx)
	now := ledger.AtTime(t.cfg.Clock())
	var failed error
	records := 0
	for _, p := range lossesFirst(fetches, t.position) {
		records += len(p.Records)
		l := t.lines[p.Partition]
		if l == nil || p.Topic != offsetsTopic {
			continue
		}
		fault, err := t.takeFetch(ctx, l, &p.FetchPartition, now)
		if err != nil {
			return err
		}
		if fault != nil {
			failed = fault
		}
	}
	if failed != nil || records > 0 {
		t.fault(failed)
	}
	if failed != nil && records == 0 {
		return newBackoff().sleep(ctx)
	}
	return nil
}

// position is where the line of a partition stands, false if there is none.
func (t *Tail) position(partition int32) (int64, bool) {
	l := t.lines[partition]
	if l == nil {
		return 0, false
	}
	return l.position(), true
}

// lossesFirst returns what was fetched in the order in which it happened. The client hands out
// the loss of records last, also behind the records that it has read since it went back for it:
// they begin before where the line stands, and would be taken for commits of somebody who went back.
func lossesFirst(fetches kgo.Fetches, position func(partition int32) (int64, bool)) []kgo.FetchTopicPartition {
	var all []kgo.FetchTopicPartition
	back := map[int32]bool{}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		all = append(all, p)
		if at, ok := position(p.Partition); ok && len(p.Records) > 0 && p.Records[0].Offset < at {
			back[p.Partition] = true
		}
	})
	late := func(p kgo.FetchTopicPartition) int {
		var lost *kgo.ErrDataLoss
		if back[p.Partition] && errors.As(p.Err, &lost) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b kgo.FetchTopicPartition) int { return cmp.Compare(late(a), late(b)) })
	return all
}

// takeFetch takes what was fetched of one partition. A fault is why no more of it can be fetched
// at present; err ends capture.
func (t *Tail) takeFetch(ctx context.Context, l *sourceLine, p *kgo.FetchPartition, now ledger.Time) (fault, err error) {
	if err := t.take(ctx, l, p, now); err != nil {
		return nil, err
	}
	if p.Err == nil || isContextError(p.Err) {
		return nil, nil
	}
	recovered, err := t.recover(ctx, l, p.Err)
	if err != nil || recovered {
		return nil, err
	}
	return p.Err, nil
}

// faultMemory is how long an error of a fetch counts if it does not come again. A partition
// that cannot be fetched says so at least every fetchWait.
const faultMemory = 5 * time.Second

// fault notes why records cannot be fetched, nil when they can.
func (t *Tail) fault(err error) {
	t.faultAt = time.Now()
	if err == nil && t.lastFault == nil {
		return
	}
	if err != nil && t.lastFault == nil {
		t.cfg.Logger.Warn("capture cannot read", "cluster", t.cfg.Cluster, "err", err)
	}
	t.lastFault = err
	t.board.fault(err)
}

// due reports whether what has been gathered should leave. While an append is going on it may
// as well wait for more.
func (t *Tail) due() bool {
	switch {
	case t.shared.out.full():
		return true
	case len(t.spare) == 0:
		return false
	case t.complete || t.fresh:
		return true
	case t.began.IsZero():
		return false
	}
	waited := time.Since(t.began)
	return !t.shared.out.empty() && waited >= t.cfg.Linger || waited >= cursorWait
}

// send hands the gathered events with the cursor behind them to the appending goroutine, and
// waits until that has taken them.
func (t *Tail) send(ctx context.Context) error { return t.sendJob(ctx, &appendJob{}) }

// settle sends what has been gathered, waits until it is stored, and returns the sequence of
// the last cursor.
func (t *Tail) settle(ctx context.Context) (seq uint64, err error) {
	job := &appendJob{stored: make(chan uint64, 1)}
	if err := t.sendJob(ctx, job); err != nil {
		return 0, err
	}
	select {
	case seq = <-job.stored:
		return seq, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (t *Tail) sendJob(ctx context.Context, job *appendJob) error {
	t.explainDeletions(ctx)
	t.trackCommitted()
	job.batch = t.shared.out
	lines := t.sortedLines()
	job.lines, job.reached, job.ready = t.lineStatus(lines)
	job.counts = t.shared.counts
	var told []ledger.SourceLine
	room := cursorRoom
	for _, l := range lines {
		if t.complete || l.moved {
			told = append(told, l.cursor(&room))
			l.moved = false
		}
	}
	if len(told) > 0 {
		job.batch.add(t.cursorEvent(told))
	}
	t.began, t.complete, t.fresh = time.Time{}, false, false
	select {
	case t.toAppend <- job:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case t.shared.out = <-t.spare:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trackCommitted tells which partitions groups commit to, so that they are observed.
func (t *Tail) trackCommitted() {
	for i := range t.shared.out.events {
		if e := &t.shared.out.events[i]; e.Kind == ledger.KindCommitted {
			t.watermarks.Track(e.Offsets)
		}
	}
}

func (t *Tail) cursorEvent(lines []ledger.SourceLine) ledger.Event {
	return ledger.Event{
		Kind: ledger.KindCursor, Cluster: t.cfg.Cluster, Time: ledger.AtTime(t.cfg.Clock()),
		Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{
			Shard: ledger.CursorShardAll, KafkaClusterID: t.kafkaID, TopicID: t.topicID,
			Complete: len(lines) == len(t.lines), Lines: lines,
		},
	}
}

func (t *Tail) sortedLines() []*sourceLine {
	return slices.SortedFunc(maps.Values(t.lines), func(a, b *sourceLine) int {
		return cmp.Compare(a.partition, b.partition)
	})
}

// lineStatus returns where the lines stand: for Status, once the batch being made is stored.
func (t *Tail) lineStatus(lines []*sourceLine) (status []LineStatus, reached ledger.Time, ready bool) {
	ready = true
	for i, l := range lines {
		l.checkEnd()
		open, _ := l.pending.oldest()
		status = append(status, LineStatus{
			Partition: l.partition, Next: l.next, End: l.high, CompleteThrough: l.completeThrough, OpenSince: open,
		})
		ready = ready && l.next >= l.firstEnd
		if i == 0 || l.target.reached.Before(reached) {
			reached = l.target.reached
		}
	}
	return status, reached, ready
}
