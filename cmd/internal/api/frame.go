package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// viewPatience is how long a question waits for the view to fold what is stored.
const viewPatience = 2 * time.Second

// frame is what an answer speaks of: the cluster, the moment, and how sure it can be.
type frame struct {
	view     *projection.View
	now      ledger.Time
	status   Status
	cluster  string
	group    *string             // that the answer is about; nil: all of them
	cover    projection.Coverage // of the whole log, whatever moment is asked for
	through  ledger.Time         // up to which what is said never changes, by all that is stored
	point    replay.Point        // resolved
	pinned   bool                // point is a sequence, but what was asked for is the present
	held     ledger.Time         // by sequence: up to which what the group had then is known to have stayed so
	asOf     ledger.Time
	seq      uint64                         // last sequence that was taken into account
	sure     projection.Known               // how sure the answer is as a whole; each row says it for itself
	reasons  map[string][]replay.Annotation // of incidents, as were given afterwards; see learnReasons
	putBacks *replay.PutBack                // likewise
}

// frame waits until the view has everything that is stored, and finds the cluster.
func (s *server) frame(ctx context.Context, q Query) (*frame, error) {
	f := &frame{view: s.View, now: ledger.AtTime(s.Now()), status: s.Status(), group: q.Group}
	f.asOf = f.now
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	var fault *Problem
	s.View.Read(func(st *projection.State) {
		f.seq = st.Seq()
		if f.cluster, fault = pickCluster(st.Clusters(), q.Cluster); fault == nil {
			f.cover, _ = st.Coverage(f.cluster)
			f.through = st.Through(f.cluster, f.group)
			f.sure = st.Sure(f.cluster, f.group, f.asked())
		}
	})
	if fault != nil {
		return nil, fault
	}
	return f, nil
}

// catchUp waits until the view has folded what is stored now.
func (s *server) catchUp(ctx context.Context) error {
	last, err := s.Log.Last(ctx)
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, viewPatience)
	defer cancel()
	err = s.View.WaitFor(wait, last)
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		p := problem(CodeCatchingUp, "the ledger is still being read: %d of %s", s.View.Seq(), ledger.Count(last, "record"))
		p.Progress = &Progress{Seq: s.View.Seq(), Last: last}
		return p
	}
	return err
}

// pickCluster finds the cluster that is meant. A ledger without any has one without a name.
func pickCluster(known []string, asked string) (string, *Problem) {
	for _, name := range known {
		if name == asked {
			return name, nil
		}
	}
	switch {
	case asked != "" && len(known) == 0:
		return "", problem(CodeUnknownCluster, "the ledger holds no cluster %s: %s", Spell(asked), whyEmpty)
	case asked != "":
		p := problem(CodeUnknownCluster, "the ledger holds no cluster %s, but %s", Spell(asked), spellAll(known))
		p.Near = texts(known)
		return "", p
	case len(known) == 0:
		return "", nil
	case len(known) == 1:
		return known[0], nil
	}
	p := problem(CodeClusterNeeded, "the ledger holds several clusters, say which: %s", spellAll(known))
	p.Near = texts(known)
	return "", p
}

func spellAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = Spell(n)
	}
	return strings.Join(out, ", ")
}

func texts(names []string) []Text {
	out := make([]Text, len(names))
	for i, n := range names {
		out[i] = Text(n)
	}
	return out
}

// ofNow reports whether the answer is about the present.
func (f *frame) ofNow() bool { return f.pinned || f.point.IsNow() }

// behind is how far capture is behind, nil if it is away.
func (f *frame) behind() *float64 {
	if !f.status.BehindKnown {
		return nil
	}
	seconds := float64(f.status.Behind.Milliseconds()) / 1000
	return &seconds
}

// envelope is what the answer says about itself. from and to bound the time that it is about;
// an unknown from is the beginning of history, an unknown to the moment asked for.
func (f *frame) envelope(kind string, from, to ledger.Time) Envelope {
	if !to.Known() {
		to = f.asOf
	}
	began := f.cover.Began
	complete := began.Known() && !to.Before(began) && f.status.Problem == "" && (f.sure.Certainty == projection.CertaintyExact || !f.through.Before(to))
	if from.Known() {
		complete = complete && !from.Before(began)
	} else {
		from = began
	}
	e := Envelope{
		Kind: kind, Version: Version, Cluster: f.cluster, AsOf: Time{f.asOf}, Seq: f.seq, present: f.ofNow(),
		Coverage: Coverage{
			From: Time{from}, To: Time{to}, Began: Time{began}, Gaps: []Gap{}, BehindSeconds: f.behind(),
			Through: Time{f.through}, Opaque: f.cover.Opaque, Problem: f.status.Problem,
		},
	}
	e.Known, e.Why, e.Coverage.Source = f.sureness()
	f.view.Read(func(st *projection.State) {
		gaps := st.Gaps(f.cluster, f.group, projection.Interval{From: from, To: to})
		for i := range gaps {
			e.Coverage.Gaps = append(e.Coverage.Gaps, gapRow(&gaps[i]))
		}
	})
	e.Coverage.Complete = complete && len(e.Coverage.Gaps) == 0
	return e
}

// whyEmpty is why nothing is known of a cluster of which nothing was recorded.
const whyEmpty = "nothing was captured yet"

// sureness is how sure the answer is as a whole, why it is not if nothing is known, and who
// told what it rests on. In a ledger that holds nothing of a cluster nothing is sure, however
// close to the present its capture is.
func (f *frame) sureness() (known, why, source string) {
	if f.cover.FirstSeq == 0 {
		return projection.CertaintyUnknown.String(), whyEmpty, "none"
	}
	return f.sure.Certainty.String(), f.sure.Why, f.cover.Source.String()
}

func gapRow(g *projection.Gap) Gap {
	row := Gap{Seq: g.Seq, From: Time{g.From}, To: Time{g.Span().To}, Cause: g.Cause.String(), Reason: Text(g.Reason)}
	if g.OfGroup {
		group := Text(g.Group)
		row.Group = &group
	}
	return row
}

// unknownGroup says that a group was never seen, and which names are like it.
func (f *frame) unknownGroup(name string, known []string) *Problem {
	if f.status.Capturing && !f.status.Ready {
		p := problem(CodeCatchingUp, "group %s has not been seen yet, but capture is still catching up with what was there at the start", Spell(name))
		p.Progress = &Progress{Seq: f.seq, Last: f.seq, BehindSeconds: f.behind()}
		return p
	}
	if f.cover.FirstSeq == 0 {
		return problem(CodeUnknownGroup, "group %s was never seen: %s", Shown(name), whyEmpty)
	}
	p := problem(CodeUnknownGroup, "group %s was never seen in cluster %s", Shown(name), Spell(f.cluster))
	p.Near = texts(nearest(name, known))
	return p
}

// knownTopics fails if one of the topics that are asked for was never seen: an answer about it
// would be empty for the wrong reason.
func (s *server) knownTopics(f *frame, topics []string) error {
	var fault *Problem
	s.View.Read(func(st *projection.State) {
		for _, name := range topics {
			if _, ok := st.Topic(f.cluster, name); ok {
				continue
			}
			known := topicsOf(st, f.cluster)
			if !slices.Contains(known, name) {
				fault = problem(CodeUnknownTopic, "topic %s was never seen in cluster %s", Shown(name), Spell(f.cluster))
				fault.Near = texts(nearest(name, known))
				return
			}
		}
	})
	if fault != nil {
		return fault
	}
	return nil
}

// topicsOf are the topics that something was recorded of, and those that groups committed to.
func topicsOf(st *projection.State, cluster string) []string {
	var names []string
	for _, t := range st.Topics(cluster) {
		names = append(names, t.Name)
	}
	for _, g := range st.Groups(cluster) {
		names = append(names, g.Topics...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
