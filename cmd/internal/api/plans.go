package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// factsPatience is how long Kafka can take to say what is true now, before the ledger is asked.
const factsPatience = 10 * time.Second

// makePlan makes a plan of a request, stores it, and answers with it. A plan that refuses itself
// is an answer like any other.
func (s *server) makePlan(w http.ResponseWriter, r *http.Request, body []byte) error {
	if s.Append == nil {
		return problem(CodeNotFound, "this handler has nowhere to store a plan")
	}
	ctx := r.Context()
	req, f, d, err := s.draft(ctx, body)
	if err != nil {
		return err
	}
	facts := s.factsFor(ctx, f, req, d.Inquiry())
	p, err := d.Plan(facts)
	if err != nil {
		return s.planFault(f, err, facts)
	}
	if err := s.storePlan(ctx, p, replay.By{Actor: string(req.Actor), Reason: string(req.Reason)}); err != nil {
		return err
	}
	return s.writeJSON(w, r, p)
}

// storePlan seals a plan and stores it.
func (s *server) storePlan(ctx context.Context, p *replay.Plan, by replay.By) error {
	if err := s.seal(ctx, p.Cluster, p); err != nil {
		return err
	}
	ev, err := p.Event(by)
	if err == nil {
		err = s.Append(ctx, []ledger.Event{ev})
	}
	if errors.Is(err, ledger.ErrTooLarge) {
		return problem(CodeTooLarge, "the plan is too large to be stored at once: plan for fewer groups or partitions")
	}
	return err
}

// seal gives a plan an id that no stored plan has.
func (s *server) seal(ctx context.Context, cluster string, p *replay.Plan) (broken error) {
	p.Seal(func(id string) bool {
		_, err := replay.FindPlan(ctx, s.Log, cluster, id)
		if err != nil && !errors.Is(err, replay.ErrNoPlan) && !errors.Is(err, replay.ErrPlanFile) {
			broken = err
		}
		return !errors.Is(err, replay.ErrNoPlan) && broken == nil
	})
	return broken
}

// planInquiry answers with what a plan would have to know of Kafka.
func (s *server) planInquiry(w http.ResponseWriter, r *http.Request, body []byte) error {
	_, _, d, err := s.draft(r.Context(), body)
	if err != nil {
		return err
	}
	return s.writeJSON(w, r, d.Inquiry())
}

// mostGroups is how many groups a plan can be about.
const mostGroups = 10_000

// draft begins the plan that a request asks for.
func (s *server) draft(ctx context.Context, body []byte) (*PlanRequest, *frame, *replay.Draft, error) {
	req := &PlanRequest{}
	if err := decodeStrictly(body, req); err != nil {
		return nil, nil, nil, err
	}
	if len(req.Groups) > mostGroups {
		return nil, nil, nil, problem(CodeTooLarge, "groups: a plan can be about %d groups, and these are %d: make several", mostGroups, len(req.Groups))
	}
	q := Query{Cluster: string(req.Cluster)}
	if len(req.Groups) == 1 {
		group := string(req.Groups[0])
		q.Group = &group
	}
	f, err := s.frame(ctx, q)
	if err != nil {
		return nil, nil, nil, err
	}
	wish, fault := req.wish(f.cluster, f.now)
	if fault != nil {
		return nil, nil, nil, fault
	}
	if err := s.target(ctx, f, req, &wish); err != nil {
		return nil, nil, nil, err
	}
	if req.Incident != "" {
		if wish.Repair, err = s.repair(ctx, f, req.Incident); err != nil {
			return nil, nil, nil, err
		}
		wish.Groups = []string{wish.Repair.Group}
	}
	d, err := s.newDraft(ctx, f, wish)
	if err != nil {
		return nil, nil, nil, s.planFault(f, err, replay.Facts{})
	}
	return req, f, d, nil
}

// newDraft gives the plan what the ledger knows.
func (s *server) newDraft(ctx context.Context, f *frame, w replay.Wish) (d *replay.Draft, err error) {
	var m replay.Material
	t := &w.Target
	if w.Repair == nil && (t.Kind == replay.TargetPoint || t.Kind == replay.TargetGroup && !t.Point.IsNow()) && !t.Point.IsNow() {
		if m.Then, err = s.Snapshots.StateAt(ctx, s.Log, t.Point, s.planScope(f, &w)); err != nil {
			return nil, err
		}
		f.point = t.Point
		m.Asked = f.asked()
		if t.Point.Seq != 0 {
			rec, err := s.one(ctx, t.Point.Seq)
			if err != nil {
				return nil, err
			}
			m.Asked.Now = ledger.AtTime(rec.Appended)
		}
	}
	s.View.Read(func(st *projection.State) {
		m.Now = st
		if m.Then == nil {
			m.Then = st
			m.Asked = projection.Asked{Now: f.now, Through: f.through}
		}
		if t.Kind == replay.TargetGroup { // it is that group of which has to be known what it had
			m.Asked.Through = st.Through(f.cluster, &t.Group)
		}
		d, err = replay.NewDraft(w, m)
	})
	return d, err
}

// planScope is the part of the ledger in which the point of a target is looked up.
func (s *server) planScope(f *frame, w *replay.Wish) replay.Scope {
	switch {
	case w.Target.Kind == replay.TargetGroup:
		return replay.OfGroup(f.cluster, w.Target.Group)
	case len(w.Groups) == 1:
		return replay.OfGroup(f.cluster, w.Groups[0])
	}
	return replay.OfCluster(f.cluster)
}

// repair reads what an incident moved.
func (s *server) repair(ctx context.Context, f *frame, id string) (*replay.Repair, error) {
	found, err := s.findIncident(ctx, id)
	if err != nil {
		return nil, err
	}
	if found[0].Cluster != f.cluster {
		return nil, problem(CodeUnknownIncident, "%s is an incident of cluster %s, not of %s", found[0].ID(), Spell(found[0].Cluster), Spell(f.cluster))
	}
	return replay.ReadRepair(ctx, s.Log, found)
}

// factsFor answers the inquiry of a plan: with what whoever asks has found out, else by Kafka,
// else by the ledger, which the plan then says.
func (s *server) factsFor(ctx context.Context, f *frame, req *PlanRequest, q replay.Inquiry) (facts replay.Facts) {
	asked, why := req.Facts != nil, ""
	if asked {
		facts = *req.Facts
	} else if s.Facts != nil {
		wait, cancel := context.WithTimeout(ctx, factsPatience)
		defer cancel()
		var err error
		if facts, err = s.Facts(wait, f.cluster, q); err != nil {
			s.Logger.Warn("Kafka could not be asked for a plan; it is made of what the ledger knows", "cluster", f.cluster, "err", err)
			why = err.Error()
		}
		asked = err == nil
	}
	s.View.Read(func(st *projection.State) {
		if !asked {
			facts = replay.LedgerFacts(st, f.cluster, q, f.now)
			facts.Problem = why
			return
		}
		facts.Sort()
		facts.Learn(st, f.cluster)
	})
	return facts
}

// planFault says why there is no plan. Names that are like an unknown one are those of the
// ledger and of Kafka.
func (s *server) planFault(f *frame, err error, facts replay.Facts) error {
	var unknown *replay.UnknownError
	switch {
	case errors.As(err, &unknown) && unknown.What == "group":
		return s.unknownForPlan(f, unknown.Name)
	case errors.As(err, &unknown) && unknown.What == replay.UnknownCopied:
		if _, err := s.present(f, unknown.Name); err != nil {
			return err
		}
		return problem(CodeUnknownGroup, "group %s does not exist in cluster %s any more, and has nothing to be copied; as of a point it had: group:%s@P",
			Shown(unknown.Name), Spell(f.cluster), Shown(unknown.Name))
	case errors.As(err, &unknown):
		p := problem(CodeUnknownTopic, "topic %s does not exist in cluster %s", Shown(unknown.Name), Spell(f.cluster))
		var known []string
		s.View.Read(func(st *projection.State) { known = topicsOf(st, f.cluster) })
		for _, t := range facts.Topics {
			if t.Exists {
				known = append(known, t.Name)
			}
		}
		slices.Sort(known)
		p.Near = texts(nearest(unknown.Name, slices.Compact(known)))
		return p
	case errors.Is(err, replay.ErrWish):
		return problem(CodeBadParameter, "%v", err)
	}
	return err
}

// unknownForPlan says that a group was never seen, and what to do if it is to be made.
func (s *server) unknownForPlan(f *frame, name string) error {
	_, err := s.present(f, name)
	var p *Problem
	switch {
	case errors.As(err, &p) && p.Code == CodeUnknownGroup:
		p.Detail += "; a reset with rule allow_new_group makes it"
		return p
	case err != nil:
		return err
	}
	return problem(CodeUnknownGroup, "group %s does not exist in cluster %s any more; a reset with rule allow_new_group makes it again", Shown(name), Spell(f.cluster))
}

// findPlan finds a stored plan by its id.
func (s *server) findPlan(ctx context.Context, f *frame, id string) (replay.StoredPlan, error) {
	sp, err := replay.FindPlan(ctx, s.Log, f.cluster, id)
	switch {
	case errors.Is(err, replay.ErrNoPlan):
		return sp, problem(CodeUnknownPlan, "the ledger holds no plan %s of cluster %s", id, Spell(f.cluster))
	case errors.Is(err, replay.ErrPlanFile):
		return sp, problem(CodeUnknownPlan, "%v", err)
	}
	return sp, err
}
