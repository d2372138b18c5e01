package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// take feeds the records of one partition to its line. Batches that are full leave on the way.
func (t *Tail) take(ctx context.Context, l *sourceLine, p *kgo.FetchPartition, now ledger.Time) error {
	l.high = max(l.high, p.HighWatermark)
	for _, r := range p.Records {
		rec := fetched(r)
		for taken := false; !taken; taken = l.read > rec.offset {
			if err := t.makeRoom(ctx, l, &rec, now); err != nil {
				return err
			}
			if lost := l.feed(&rec, now); lost != nil {
				if err := t.truncated(ctx, l, rec.offset); err != nil {
					return err
				}
			}
			if t.began.IsZero() {
				t.began = time.Now()
			}
			if t.shared.out.full() {
				if err := t.send(ctx); err != nil {
					return err
				}
			}
		}
	}
	l.flush(now)
	return nil
}

// makeRoom sends the batch if what comes of rec might not fit into it any more. The open run
// stays open, unless it and the record are both so large that not even an empty batch would
// hold them.
func (t *Tail) makeRoom(ctx context.Context, l *sourceLine, rec *sourceRecord, now ledger.Time) error {
	if t.shared.out.fits(l.weight(rec)) {
		return nil
	}
	if !t.shared.out.empty() {
		if err := t.send(ctx); err != nil {
			return err
		}
	}
	if t.shared.out.fits(l.weight(rec)) {
		return nil
	}
	l.flush(now)
	return t.send(ctx)
}

// fetched is r as lines take it.
func fetched(r *kgo.Record) sourceRecord {
	return sourceRecord{
		offset: r.Offset, epoch: ledger.EpochOf(r.LeaderEpoch), timestamp: recordTime(r),
		producerID: r.ProducerID, transactional: r.Attrs.IsTransactional(), control: r.Attrs.IsControl(),
		key: r.Key, value: r.Value,
	}
}

// recordTime is the timestamp of a record, unknown if it has none.
func recordTime(r *kgo.Record) ledger.Time {
	if r.Attrs.TimestampType() < 0 {
		return ledger.Time{}
	}
	return knownTime(r.Timestamp.UnixMilli())
}
