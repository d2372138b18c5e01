package replay

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// LagSample is how far a group was behind at a moment at which a commit or an observation of the
// log changed that. It holds until the next one.
type LagSample struct {
	Topic     string
	Partition int32
	Time      ledger.Time
	Lag       projection.Lag // not Known: nobody can say, and Why not
	Committed projection.Value
	LogEnd    projection.Value // as last observed
}

// LagRange is what to tell of the lag of a group: from one moment to another, of the partitions
// that Wants selects (nil: all), in so many equal spans of time.
type LagRange struct {
	From, To ledger.Time
	Points   int
	Wants    func(topic string, partition int32) bool
}

// LagOver tells how the lag of a group went, by partition and then by time. It begins with what
// was so at From. Of each span it keeps, for each partition, the least, the greatest and the last
// sample, and the first of an unknown lag, all at their own times: however few spans there are,
// no extreme is lost.
func LagOver(ctx context.Context, r Reader, cluster, group string, span LagRange) ([]LagSample, error) {
	return (*Snapshots)(nil).LagOver(ctx, r, cluster, group, span)
}

// LagOver is the function of that name, and begins with the newest snapshot that can be used.
func (s *Snapshots) LagOver(ctx context.Context, r Reader, cluster, group string, span LagRange) ([]LagSample, error) {
	l := &lagging{
		cluster: cluster, group: group, span: span,
		series: map[ledger.TopicPartition]map[int64]*extremes{}, courses: map[ledger.TopicPartition]*course{},
	}
	from, sc := Point{Time: span.From}, OfGroup(cluster, group)
	end, err := endOf(ctx, r, from)
	if err != nil {
		return nil, err
	}
	first, err := s.StateAt(ctx, r, from, sc)
	if err != nil {
		return nil, err
	}
	for _, p := range first.Partitions(cluster, group) {
		l.moved(first, ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}, span.From)
	}
	l.settle()
	st, ok, err := s.start(ctx, r, from, end, &sc)
	if !ok {
		st = projection.NewState()
	}
	if err == nil && st.Seq() < end {
		err = l.fold(s.records(ctx, r, st.Seq(), end, sc, true), st)
	}
	if err != nil {
		return nil, fmt.Errorf("lag of group %q: %w", group, err)
	}
	l.settle()
	return l.samples(), nil
}

// lagging gathers the samples of one group.
type lagging struct {
	cluster, group string
	span           LagRange
	series         map[ledger.TopicPartition]map[int64]*extremes // by span
	courses        map[ledger.TopicPartition]*course
}

// extremes are the samples that are kept of one span; those of the zero Time are none.
type extremes struct{ least, greatest, last, unknown LagSample }

// fold samples what every record changes, up to where nothing before the end of the range can
// follow.
func (l *lagging) fold(records iter.Seq2[ledger.Record, error], st *projection.State) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		st.Skip(rec.Seq - 1)
		changes, err := st.Apply(rec)
		if err != nil {
			return err
		}
		switch ev := &rec.Event; {
		case ev.Kind == ledger.KindWatermarks && ev.Watermarks != nil:
			l.observed(st, ev)
		case ev.Kind == ledger.KindCursor && st.Past(l.cluster, l.span.To):
			return nil
		}
		for i := range changes {
			ch := &changes[i]
			l.moved(st, ledger.TopicPartition{Topic: ch.Topic, Partition: ch.Partition}, ch.Moment(&rec))
		}
	}
	return nil
}

// observed samples the partitions that an observation tells of: those that it names, those that
// were not answered for, and if it is complete all of its shard, since what it leaves out is not
// observed any more.
func (l *lagging) observed(st *projection.State, ev *ledger.Event) {
	at, w := ev.Time, ev.Watermarks
	if ev.NotBefore.Known() {
		at = ev.NotBefore
	}
	if w.Complete {
		for tp, c := range l.courses {
			if ledger.WatermarkShard(tp.Topic) == w.Shard {
				l.turn(st, tp, c, at, turnObserved)
			}
		}
		return
	}
	named := func(topic string, partition int32) {
		tp := ledger.TopicPartition{Topic: topic, Partition: partition}
		if c, ok := l.courses[tp]; ok {
			l.turn(st, tp, c, at, turnObserved)
		}
	}
	for i := range w.Rows {
		named(w.Rows[i].Topic, w.Rows[i].Partition)
	}
	for i := range w.Unanswered {
		for _, p := range w.Unanswered[i].Partitions {
			named(w.Unanswered[i].Topic, p)
		}
	}
}

// keep notes a sample, if it is of the range.
func (l *lagging) keep(s LagSample) {
	if s.Time.Before(l.span.From) || s.Time.After(l.span.To) {
		return
	}
	tp := ledger.TopicPartition{Topic: s.Topic, Partition: s.Partition}
	spans := l.series[tp]
	if spans == nil {
		spans = map[int64]*extremes{}
		l.series[tp] = spans
	}
	i := l.index(s.Time)
	if spans[i] == nil {
		spans[i] = &extremes{}
	}
	spans[i].add(s)
}

// index is the span that a moment of the range lies in.
func (l *lagging) index(at ledger.Time) int64 {
	whole, _ := l.span.To.Sub(l.span.From)
	since, _ := at.Sub(l.span.From)
	if whole <= 0 || l.span.Points < 1 {
		return 0
	}
	return min(int64(float64(since)/float64(whole)*float64(l.span.Points)), int64(l.span.Points)-1)
}

func (x *extremes) add(s LagSample) {
	if !x.last.Time.Known() || !s.Time.Before(x.last.Time) {
		x.last = s
	}
	switch {
	case !s.Lag.Known:
		if !x.unknown.Time.Known() {
			x.unknown = s
		}
		return
	case !x.least.Time.Known():
		x.least, x.greatest = s, s
	case s.Lag.Records < x.least.Lag.Records:
		x.least = s
	}
	if s.Lag.Records > x.greatest.Lag.Records {
		x.greatest = s
	}
}

// samples are all that were kept, each once.
func (l *lagging) samples() []LagSample {
	var out []LagSample
	byName := func(a, b ledger.TopicPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	}
	for _, tp := range slices.SortedFunc(maps.Keys(l.series), byName) {
		var of []LagSample
		for _, i := range slices.Sorted(maps.Keys(l.series[tp])) {
			x, first := l.series[tp][i], len(of)
			for _, s := range []LagSample{x.unknown, x.least, x.greatest, x.last} {
				if s.Time.Known() && !slices.Contains(of[first:], s) {
					of = append(of, s)
				}
			}
		}
		slices.SortStableFunc(of, func(a, b LagSample) int {
			switch {
			case a.Time.Before(b.Time):
				return -1
			case b.Time.Before(a.Time):
				return 1
			}
			return 0
		})
		out = append(out, of...)
	}
	return out
}
