package replay

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// A question about one group needs few of the records behind a snapshot. Each snapshot lists, by
// group, where those stand that came since the one before, and the view's trail those since the
// newest: they are picked one by one. Where there is no list, they are looked for by their subject.

// pickAll is how many records are picked to look whose they are, where no list tells: making a
// consumer takes as long.
const pickAll = 512

// records yields the records behind a sequence, up to another one, that a scope needs.
func (s *Snapshots) records(ctx context.Context, r Reader, after, end uint64, sc Scope, watermarks bool) iter.Seq2[ledger.Record, error] {
	if s == nil || s.pick == nil || !sc.ofGroup {
		return r.Read(ctx, after+1, end, sc.filter(watermarks))
	}
	return func(yield func(ledger.Record, error) bool) {
		for after < end {
			stretch, to := s.stretch(ctx, r, after, end, sc, watermarks)
			for rec, err := range stretch {
				if !yield(rec, err) || err != nil {
					return
				}
			}
			after = to
		}
	}
}

// stretch yields the first of what records does: as far as the list goes that begins at after, or
// up to where one begins.
func (s *Snapshots) stretch(ctx context.Context, r Reader, after, end uint64, sc Scope, watermarks bool) (iter.Seq2[ledger.Record, error], uint64) {
	if p, ok := s.passage(ctx, r, after, sc); ok {
		to := min(end, p.To)
		return s.walk(ctx, p, after, to, sc, watermarks), to
	}
	to := min(end, s.nextPassage(after))
	if to-after <= pickAll {
		return s.sift(ctx, after, to, sc), to
	}
	return r.Read(ctx, after+1, to, sc.filter(watermarks)), to
}

// passage finds the list that covers what follows a sequence: that of a snapshot, or of the view's
// trail. A list that cannot be read is passed over: nothing but speed depends on it. So is one of
// records that the log has lost, which names the places of others.
func (s *Snapshots) passage(ctx context.Context, r Reader, after uint64, sc Scope) (projection.Passage, bool) {
	s.mu.Lock()
	all := slices.Clone(s.known)
	s.mu.Unlock()
	for _, k := range all {
		if !k.lists(after) {
			continue
		}
		t, err := s.listOf(ctx, r, k)
		if err == nil {
			return t.Of(sc.cluster, sc.group), true
		}
		if ctx.Err() == nil {
			s.logger.Warn("the list of events of a snapshot is not used", "snapshot", k.ID(), "err", err)
			if unusable(err) {
				k.unlisted.Store(true)
			}
		}
	}
	if s.trail != nil {
		if p := s.trail.Of(sc.cluster, sc.group); p.After <= after && after < p.To {
			return p, true
		}
	}
	return projection.Passage{}, false
}

// nextPassage is where behind a sequence a list begins.
func (s *Snapshots) nextPassage(after uint64) uint64 {
	next := uint64(math.MaxUint64)
	begin := func(at uint64) {
		if at > after {
			next = min(next, at)
		}
	}
	s.mu.Lock()
	for _, k := range s.known {
		if k.listed() {
			begin(k.EventsAfter)
		}
	}
	s.mu.Unlock()
	if s.trail != nil {
		at, _ := s.trail.Range()
		begin(at)
	}
	return next
}

// lists reports whether the snapshot lists the records that follow a sequence.
func (k *known) lists(after uint64) bool {
	return k.listed() && k.EventsAfter <= after && after < k.Seq
}

func (k *known) listed() bool {
	_, ok := k.part(eventsPart)
	return ok && !k.unlisted.Load()
}

// listOf returns the list of a snapshot that was taken of this log.
func (s *Snapshots) listOf(ctx context.Context, r Reader, k *known) (*projection.Trail, error) {
	if err := s.check(ctx, r, k); err != nil {
		return nil, err
	}
	return s.list(ctx, k)
}

// list reads the list of a snapshot, which is held for the next question.
func (s *Snapshots) list(ctx context.Context, k *known) (*projection.Trail, error) {
	row, _ := k.part(eventsPart)
	key := k.ID() + "/" + row.SHA256
	if t, ok := s.trails.get(key); ok {
		return t, nil
	}
	t, err := s.readList(ctx, k)
	if err == nil {
		s.trails.put(key, t, 8*t.Size()+row.Bytes)
	}
	return t, err
}

func (s *Snapshots) readList(ctx context.Context, k *known) (*projection.Trail, error) {
	row, _ := k.part(eventsPart)
	b, err := s.read(ctx, k.ID(), row)
	if err != nil {
		return nil, err
	}
	t, err := projection.LoadTrail(b)
	if err != nil {
		return nil, fmt.Errorf("%w: part %s: %w", errUnusable, eventsPart, err)
	}
	if after, to := t.Range(); after != k.EventsAfter || to != k.Seq {
		return nil, fmt.Errorf("%w: part %s covers sequences above %d up to %d", errUnusable, eventsPart, after, to)
	}
	return t, nil
}

// sift picks every record of a range, and yields those that can be of the scope.
func (s *Snapshots) sift(ctx context.Context, after, to uint64, sc Scope) iter.Seq2[ledger.Record, error] {
	seqs := make([]uint64, to-after)
	for i := range seqs {
		seqs[i] = after + 1 + uint64(i)
	}
	return func(yield func(ledger.Record, error) bool) {
		for rec, err := range s.pick(ctx, seqs) {
			ev := &rec.Event
			other := err == nil && (ev.Cluster != sc.cluster || ev.OfGroup() && ev.Group != sc.group || ev.Kind == ledger.KindOperator || ev.Kind == ledger.KindSnapshot)
			if !other && (!yield(rec, err) || err != nil) {
				return
			}
		}
	}
}

// walk yields the records of a passage, in their order: those of the group, and those of its
// cluster and its topics, which are the same for all groups and are held for the next question.
func (s *Snapshots) walk(ctx context.Context, p projection.Passage, after, to uint64, sc Scope, watermarks bool) iter.Seq2[ledger.Record, error] {
	within := func(seqs []uint64) []uint64 {
		first, _ := slices.BinarySearch(seqs, after+1)
		end, _ := slices.BinarySearch(seqs, to+1)
		return seqs[first:end]
	}
	lanes := []*lane{{seqs: within(p.Group), load: s.picked}}
	shared := func(seqs []uint64, name string) {
		if seqs = within(seqs); len(seqs) > 0 {
			lanes = append(lanes, &lane{seqs: seqs, load: s.common(fmt.Sprintf("%d/%s/%q", after, name, sc.cluster)).upTo(s)})
		}
	}
	shared(p.Capture, "capture")
	for shard, seqs := range p.Watermarks {
		if watermarks && sc.wants(int32(shard)) {
			shared(seqs, topicsPart(int32(shard)))
		}
	}
	return func(yield func(ledger.Record, error) bool) {
		for {
			var first *lane
			for _, l := range lanes {
				if l.next < len(l.seqs) && (first == nil || l.seqs[l.next] < first.seqs[first.next]) {
					first = l
				}
			}
			if first == nil {
				return
			}
			rec, err := first.take(ctx)
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// lane is some of the records of a passage, that are loaded a few at a time.
type lane struct {
	seqs   []uint64
	next   int // the first that was not taken
	loaded []ledger.Record
	// load returns the records of seqs from the index on, one at least.
	load func(ctx context.Context, seqs []uint64, from int) ([]ledger.Record, error)
}

func (l *lane) take(ctx context.Context) (ledger.Record, error) {
	if len(l.loaded) == 0 {
		var err error
		if l.loaded, err = l.load(ctx, l.seqs, l.next); err != nil {
			return ledger.Record{}, err
		}
	}
	rec := l.loaded[0]
	l.next, l.loaded = l.next+1, l.loaded[1:]
	return rec, nil
}

// atOnce is how many records are picked before the first of them is folded.
const atOnce = 64

// picked loads records that nobody else will ask for.
func (s *Snapshots) picked(ctx context.Context, seqs []uint64, from int) ([]ledger.Record, error) {
	seqs = seqs[from:min(len(seqs), from+atOnce)]
	recs := make([]ledger.Record, 0, len(seqs))
	for rec, err := range s.pick(ctx, seqs) {
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec.Clone())
	}
	return recs, nil
}

// common are records of a range that the questions about all groups of a cluster need.
type common struct {
	key string

	mu    sync.Mutex
	recs  []ledger.Record // from the first of the range on; only ever appended to
	bytes int
}

// common returns what is held of a range under a key that says where it begins.
func (s *Snapshots) common(key string) *common {
	if c, ok := s.commons.get(key); ok {
		return c
	}
	c := &common{key: key}
	s.commons.put(key, c, 0)
	return c
}

// upTo loads records that are held for others.
func (c *common) upTo(s *Snapshots) func(context.Context, []uint64, int) ([]ledger.Record, error) {
	return func(ctx context.Context, seqs []uint64, from int) ([]ledger.Record, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for len(c.recs) <= from {
			more, err := s.picked(ctx, seqs, len(c.recs))
			if err != nil {
				return nil, err
			}
			c.recs = append(c.recs, more...)
			for i := range more {
				c.bytes += weight(&more[i])
			}
			s.commons.put(c.key, c, c.bytes)
		}
		return c.recs[from:min(len(c.recs), len(seqs))], nil
	}
}

// weight is about what a record takes in memory.
func weight(rec *ledger.Record) int {
	ev := &rec.Event
	n := 512
	if ev.Cursor != nil {
		n += 160 * len(ev.Cursor.Lines)
	}
	if ev.Watermarks != nil {
		n += 64 * len(ev.Watermarks.Rows)
	}
	return n
}
