package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// How far [Backlog.Find] looks back: its first look takes in so many sequences, every further one
// twice as many while it reads little, and after so many events it gives up.
const (
	firstLook    = 1024
	mostObserved = 10_000
)

// Backlog finds since when records have been waiting that groups come to next. A state holds only
// the last observation of each log, so those before it are looked up in the ledger. The zero
// Backlog is not usable, see [NewBacklog].
type Backlog struct {
	cluster string
	until   ledger.Time
	seq     uint64
	asked   map[ledger.TopicPartition]*Waiting
	ids     map[string]uuid.UUID // of the topics asked for, as of the state
}

// Waiting is how long a record has been in its log, as far as observations tell.
type Waiting struct {
	// Since is the oldest observation that found the record there. It was written before that,
	// but after the observation before.
	Since ledger.Time
	// Longer is set if no observation was found from before it was written: it can have been
	// there for any time before Since.
	Longer bool

	next    int64 // offset of the record
	stopped bool  // an observation from before it was written was found
}

// NewBacklog returns a Backlog of a cluster, as of a time, or of all that the state says if until
// is the unknown Time.
func NewBacklog(cluster string, until ledger.Time) *Backlog {
	return &Backlog{cluster: cluster, until: until, asked: map[ledger.TopicPartition]*Waiting{}, ids: map[string]uuid.UUID{}}
}

// Ask notes the record that a group comes to next in a partition: the first behind the committed
// offset that is still there. It is false if nothing is known to wait. All that one Backlog is
// asked is of one state and one group.
func (b *Backlog) Ask(st *projection.State, p *projection.Partition) bool {
	lag := st.Lag(b.cluster, p)
	if !lag.Known || lag.Records == 0 {
		return false
	}
	b.seq = st.Seq()
	b.asked[ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}] = &Waiting{next: p.Committed.At + lag.Unread}
	t, _ := st.Topic(b.cluster, p.Topic)
	b.ids[p.Topic] = t.ID
	return true
}

// Since returns what was found of a partition. It is false for one that was not asked for, or of
// which no observation was found.
func (b *Backlog) Since(topic string, partition int32) (Waiting, bool) {
	w := b.asked[ledger.TopicPartition{Topic: topic, Partition: partition}]
	if w == nil || !w.Since.Known() {
		return Waiting{}, false
	}
	return Waiting{Since: w.Since, Longer: !w.stopped}, true
}

// Find looks back until it is known of everything that was asked since when it waits, or history
// ends, or it has read as many events as it will.
func (b *Backlog) Find(ctx context.Context, r Reader) error {
	f, read := b.filter(), 0
	for end, look := b.seq, uint64(firstLook); end > 0 && read < mostObserved && b.open(); {
		from := end - min(look, end) + 1
		n, err := b.look(ctx, r, from, end, f)
		if err != nil {
			return fmt.Errorf("since when records wait in cluster %q: %w", b.cluster, err)
		}
		read += n
		end = from - 1
		if n < mostObserved/4 {
			look *= 2
		}
	}
	return nil
}

func (b *Backlog) filter() ledger.Filter {
	subjects := map[string]bool{}
	for topic := range b.ids {
		subjects[ledger.WatermarkSubject(b.cluster, ledger.WatermarkShard(topic))] = true
	}
	subjects[ledger.TopicSubjects(b.cluster)] = true
	return ledger.Filter{Subjects: slices.Sorted(maps.Keys(subjects))}
}

func (b *Backlog) open() bool {
	for _, w := range b.asked {
		if !w.stopped {
			return true
		}
	}
	return false
}

// look reads one stretch of the log, forward, and puts what it says in front of what later ones
// have said.
func (b *Backlog) look(ctx context.Context, r Reader, from, to uint64, f ledger.Filter) (read int, err error) {
	found := map[ledger.TopicPartition]*stretch{}
	for tp, w := range b.asked {
		if !w.stopped {
			found[tp] = &stretch{next: w.next}
		}
	}
	for rec, err := range r.Read(ctx, from, to, f) {
		if err != nil {
			return read, err
		}
		read++
		ev := &rec.Event
		switch {
		case b.until.Known() && ev.Time.After(b.until):
		case ev.Watermarks != nil:
			b.observed(ev, found)
		case ev.TopicInfo != nil && b.another(ev.Topic, ev.TopicInfo):
			for tp, s := range found {
				if tp.Topic == ev.Topic {
					s.absent()
				}
			}
		}
	}
	for tp, s := range found {
		w := b.asked[tp]
		if s.since.Known() {
			w.Since = s.since
		}
		w.stopped = s.stopped
	}
	return read, nil
}

// another reports whether an event of a topic parts its log from one of before: it was deleted,
// or made again.
func (b *Backlog) another(topic string, info *ledger.TopicInfo) bool {
	return info.Deleted || info.Recreated || info.TopicID != uuid.Nil && info.TopicID != b.ids[topic]
}

func (b *Backlog) observed(ev *ledger.Event, found map[ledger.TopicPartition]*stretch) {
	at := ev.Time
	if ev.NotBefore.Known() {
		at = ev.NotBefore
	}
	for i := range ev.Watermarks.Rows {
		row := &ev.Watermarks.Rows[i]
		s := found[ledger.TopicPartition{Topic: row.Topic, Partition: row.Partition}]
		switch {
		case s == nil || row.LogStart < 0 || row.LogStart > row.LogEnd:
		case row.LogEnd <= s.next, row.TopicID != uuid.Nil && row.TopicID != b.ids[row.Topic]:
			s.absent()
		case !s.since.Known():
			s.since = at
		}
	}
}

// stretch is what a part of the log says of one record.
type stretch struct {
	next    int64
	since   ledger.Time // the first observation of it after it was last absent
	stopped bool        // it was absent at some time
}

func (s *stretch) absent() { s.since, s.stopped = ledger.Time{}, true }
