package projection

import (
	"maps"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// intent is a reset, clear or restore that was about to write.
type intent struct {
	plan, reason, actor string
	verified            bool
	opened              ledger.Time
	// steps are those whose row has not been seen; at a negative offset the one there is to go.
	steps map[ledger.TopicPartition]reported
}

// intentLife is how long rows are taken for steps of an intent: one that a crash left open
// must not explain what members do much later.
const intentLife = time.Hour

// openIntent takes over what is about to be written. Whoever goes on with an interrupted plan names
// only what is left to do: what was written before is still to be seen.
func (g *group) openIntent(ev *ledger.Event) {
	in := &intent{
		plan: ev.Plan, reason: ev.Reason, actor: ev.Actor, verified: ev.ActorVerified, opened: ev.Time,
		steps: make(map[ledger.TopicPartition]reported, len(ev.Offsets)),
	}
	if was := g.rarities().intent; was != nil && was.plan == in.plan && in.plan != "" {
		maps.Copy(in.steps, was.steps)
	}
	g.rare.intent = in
	for i := range ev.Offsets {
		r := &ev.Offsets[i]
		in.steps[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}] =
			reported{at: r.At, epoch: r.LeaderEpoch, metadata: r.Metadata}
	}
}

// stepTaken returns the open intent if row r is one of its steps, which is then done.
func (g *group) stepTaken(ev *ledger.Event, r *ledger.Offset, at ledger.Time) *intent {
	in := g.rare.intent
	if ev.Source.Kind != ledger.SourceTail {
		return nil
	}
	if age, ok := at.Sub(in.opened); ok && age > intentLife {
		g.rare.intent = nil
		return nil
	}
	key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	step, ok := in.steps[key]
	switch {
	case !ok, step.deletes() != (ev.Kind == ledger.KindDeleted):
		return nil
	case step.deletes(): // of such a row only the key means something
	case step.at != r.At || step.epoch != r.LeaderEpoch || step.metadata != r.Metadata:
		return nil
	}
	delete(in.steps, key)
	g.closeIntent()
	return in
}

// deletes reports whether a step of an intent takes the offset away.
func (r *reported) deletes() bool { return r.at < 0 }

// closeIntent forgets the intent if all its steps are done.
func (g *group) closeIntent() {
	if len(g.rare.intent.steps) == 0 {
		g.rare.intent = nil
	}
}

// behindTail reports whether a reset event, or a deleted one of whoever deleted, folds nothing,
// because the tail tells the same rows. Steps of its kind that it does not name were refused; those it
// names and the tail has not come to stay open. One without a plan had no intent: whoever sets
// offsets in the ledger alone writes nothing that a tail could see.
func (g *group) behindTail(c *cluster, ev *ledger.Event) bool {
	if c.capture.source != ledger.SourceTail || ev.Plan == "" || ev.Kind == ledger.KindCommitted {
		return false
	}
	if g.rare == nil || g.rare.intent == nil || g.rare.intent.plan != ev.Plan {
		return true
	}
	named := make(map[ledger.TopicPartition]bool, len(ev.Offsets))
	for i := range ev.Offsets {
		named[ledger.TopicPartition{Topic: ev.Offsets[i].Topic, Partition: ev.Offsets[i].Partition}] = true
	}
	maps.DeleteFunc(g.rare.intent.steps, func(key ledger.TopicPartition, step reported) bool {
		return step.deletes() == (ev.Kind == ledger.KindDeleted) && !named[key]
	})
	g.closeIntent()
	return true
}

// step is the open intent that row r is a step of, or nil.
func (f *folding) step(r *ledger.Offset, at ledger.Time) *intent {
	if !f.rare || f.g.rare.intent == nil {
		return nil
	}
	return f.g.stepTaken(f.ev, r, at)
}

// explain says who did what a step of the intent did, and why.
func (in *intent) explain(ch *Change) {
	ch.Actor, ch.ActorVerified, ch.Reason, ch.Plan = in.actor, in.verified, in.reason, in.plan
}
