package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// planVersion is the version of the JSON that docs/plan.md describes.
const planVersion = 1

// planJSON is a plan as it is written. The order of its fields is that of the canonical form,
// over which the digest is made.
type planJSON struct {
	Kind           string      `json:"kind"`
	Version        int         `json:"version"`
	ID             string      `json:"id,omitempty"`
	Command        string      `json:"command"`
	Cluster        ledger.Text `json:"cluster"`
	KafkaClusterID ledger.Text `json:"kafka_cluster_id"`
	Incident       string      `json:"incident,omitempty"`
	IncidentTime   ledger.Time `json:"incident_time,omitzero"`
	Point          ledger.Text `json:"point"`
	Clock          string      `json:"clock"`
	Made           ledger.Time `json:"made"`
	Seq            uint64      `json:"seq"`
	Facts          string      `json:"facts"` // kafka or ledger
	FactsAt        ledger.Time `json:"facts_at"`
	FactsProblem   string      `json:"facts_problem,omitempty"`
	Rules          rulesJSON   `json:"rules"`
	Digest         string      `json:"digest,omitempty"`
	Executable     bool        `json:"executable"`
	Blocked        []string    `json:"blocked"`
	RefusedFor     []string    `json:"refused_for"`
	Groups         []groupJSON `json:"groups"`
}

type rulesJSON struct {
	Direction     string `json:"direction"`
	Clamp         bool   `json:"clamp"`
	AcceptExpiry  bool   `json:"accept_expiry"`
	AllowNewGroup bool   `json:"allow_new_group"`
	AllowNewTopic bool   `json:"allow_new_topic"`
	DeleteAbsent  bool   `json:"delete_absent"`
	AnyCluster    bool   `json:"any_cluster"`
	ForceStreams  bool   `json:"force_streams"`
}

type groupJSON struct {
	Group      ledger.Text  `json:"group"`
	State      string       `json:"state"`
	Type       string       `json:"type"`
	New        bool         `json:"new"`
	Members    []memberJSON `json:"members"`
	Blocked    []string     `json:"blocked"`
	RefusedFor []string     `json:"refused_for"`
	Set        int          `json:"set"`
	Kept       int          `json:"kept"`
	Deleted    int          `json:"deleted"`
	Refused    int          `json:"refused"`
	Skips      int64        `json:"skips"`
	Replays    int64        `json:"replays"`
	Uncounted  int          `json:"uncounted"`
	Commits    int          `json:"commits"`
	Steps      []stepJSON   `json:"steps"`
	Untouched  []topicJSON  `json:"untouched"`
	LeftOut    []topicJSON  `json:"left_out,omitempty"`
}

type memberJSON struct {
	ID         ledger.Text `json:"member_id"`
	InstanceID ledger.Text `json:"instance_id"`
	ClientID   ledger.Text `json:"client_id"`
	Host       ledger.Text `json:"host"`
	HeldUntil  ledger.Time `json:"held_until"`
}

type topicJSON struct {
	Topic     ledger.Text `json:"topic"`
	Partition int32       `json:"partition"`
}

type stepJSON struct {
	Topic         ledger.Text  `json:"topic"`
	Partition     int32        `json:"partition"`
	TopicID       *uuid.UUID   `json:"topic_id"`
	Current       *int64       `json:"current"`
	Target        *int64       `json:"target"`
	Epoch         ledger.Epoch `json:"leader_epoch"`
	Recorded      bool         `json:"recorded"`
	RecordedEpoch ledger.Epoch `json:"recorded_epoch"`
	Metadata      ledger.Text  `json:"metadata"`
	LogStart      *int64       `json:"log_start_offset"`
	LastStable    *int64       `json:"last_stable_offset"`
	LogEnd        *int64       `json:"log_end_offset"`
	Action        string       `json:"action"`
	Only          string       `json:"only,omitempty"`
	Skips         *int64       `json:"skips"`
	Replays       *int64       `json:"replays"`
	ExpiresAt     ledger.Time  `json:"expires_at"`
	Reason        string       `json:"reason"`
}

// MarshalJSON writes the plan in its canonical form: the same plan is always the same bytes.
func (p *Plan) MarshalJSON() ([]byte, error) { return canonical(p.written()) }

// Seal gives the plan its Digest and ID. The ID has as many digits as taken needs to say of it
// that no other plan has it, and at least five; taken can be nil.
func (p *Plan) Seal(taken func(id string) bool) {
	p.Digest = p.digest()
	for n := 5; n <= len(p.Digest); n++ {
		p.ID = "p" + p.Digest[:n]
		if taken == nil || !taken(p.ID) {
			return
		}
	}
}

// digest is made over all but itself and the id.
func (p *Plan) digest() string {
	w := p.written()
	w.ID, w.Digest = "", ""
	b, err := canonical(w)
	if err != nil {
		panic(err) // nothing in it cannot be encoded
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// canonical is compact JSON in which what HTML would have escaped stands for itself.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (p *Plan) written() *planJSON {
	w := &planJSON{
		Kind: "plan", Version: planVersion, ID: p.ID, Command: p.Command, Cluster: ledger.Text(p.Cluster),
		KafkaClusterID: ledger.Text(p.KafkaClusterID), Incident: p.Incident, IncidentTime: p.IncidentTime, Point: ledger.Text(p.Point),
		Clock: p.Clock.String(), Made: p.Made, Seq: p.Seq, Facts: "kafka", FactsAt: p.FactsAt, FactsProblem: p.FactsProblem, Digest: p.Digest,
		Executable: p.Executable(), Blocked: list(p.Blocked()), RefusedFor: list(p.Refused), Groups: []groupJSON{},
		Rules: rulesJSON{p.Rules.Direction.String(), p.Rules.Clamp, p.Rules.AcceptExpiry, p.Rules.AllowNewGroup,
			p.Rules.AllowNewTopic, p.Rules.DeleteAbsent, p.Rules.AnyCluster, p.Rules.ForceStreams},
	}
	if p.FromLedger {
		w.Facts = "ledger"
	}
	for i := range p.Groups {
		w.Groups = append(w.Groups, p.Groups[i].written())
	}
	return w
}

func (g *PlanGroup) written() groupJSON {
	t := g.Sums()
	w := groupJSON{
		Group: ledger.Text(g.Group), State: g.State, Type: g.Type.String(), New: g.New, Members: []memberJSON{},
		Blocked: list(g.Blocked), RefusedFor: list(g.Refused), Set: t.Set, Kept: t.Kept, Deleted: t.Deleted,
		Refused: t.Refused, Skips: t.Skips, Replays: t.Replays, Uncounted: t.Uncounted, Commits: g.Commits(), Steps: []stepJSON{}, Untouched: []topicJSON{},
	}
	for _, m := range g.Members {
		w.Members = append(w.Members, memberJSON{
			ledger.Text(m.ID), ledger.Text(m.InstanceID), ledger.Text(m.ClientID), ledger.Text(m.Host), m.HeldUntil,
		})
	}
	for i := range g.Steps {
		w.Steps = append(w.Steps, g.Steps[i].written())
	}
	for _, tp := range g.Untouched {
		w.Untouched = append(w.Untouched, topicJSON{ledger.Text(tp.Topic), tp.Partition})
	}
	for _, tp := range g.LeftOut {
		w.LeftOut = append(w.LeftOut, topicJSON{ledger.Text(tp.Topic), tp.Partition})
	}
	return w
}

func (s *Step) written() stepJSON {
	w := stepJSON{
		Topic: ledger.Text(s.Topic), Partition: s.Partition, Current: valueOf(s.Current), Target: valueOf(s.Target),
		Epoch: s.LeaderEpoch, Recorded: s.Recorded, RecordedEpoch: s.RecordedEpoch, Metadata: ledger.Text(s.Metadata), Action: s.Action.String(),
		Only: s.Only.String(), ExpiresAt: s.ExpiresAt, Reason: s.Reason,
	}
	if s.TopicID != uuid.Nil {
		w.TopicID = &s.TopicID
	}
	if b := s.Log; b != nil {
		w.LogStart, w.LastStable, w.LogEnd = &b.Start, &b.LastStable, &b.End
	}
	if skips, replays, ok := s.Moves(); ok {
		w.Skips, w.Replays = &skips, &replays
	}
	return w
}

func valueOf(v projection.Value) *int64 {
	if !v.Exists {
		return nil
	}
	return &v.At
}

// list is never null in JSON.
func list(words []string) []string {
	if words == nil {
		return []string{}
	}
	return words
}
