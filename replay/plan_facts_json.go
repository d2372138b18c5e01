package replay

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// The JSON of an [Inquiry] and of [Facts] is what two programs hand each other when one has the
// ledger and the other can ask Kafka. Names and metadata are spelled as everywhere.

type keyJSON struct {
	Topic     ledger.Text  `json:"topic"`
	Partition int32        `json:"partition"`
	Epoch     ledger.Epoch `json:"leader_epoch,omitzero"`
	End       *int64       `json:"end,omitempty"`
}

type inquiryJSON struct {
	Groups     []ledger.Text `json:"groups"`
	Topics     []ledger.Text `json:"topics"`
	Partitions []keyJSON     `json:"partitions"`
	Epochs     []keyJSON     `json:"epochs"`
	RecordTime ledger.Time   `json:"record_time"`
}

// MarshalJSON writes the inquiry.
func (q Inquiry) MarshalJSON() ([]byte, error) {
	w := inquiryJSON{Groups: texts(q.Groups), Topics: texts(q.Topics), Partitions: keys(q.Partitions), RecordTime: q.RecordTime}
	for _, e := range q.Epochs {
		w.Epochs = append(w.Epochs, keyJSON{Topic: ledger.Text(e.Topic), Partition: e.Partition, Epoch: e.Epoch})
	}
	return canonical(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (q *Inquiry) UnmarshalJSON(b []byte) error {
	var w inquiryJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*q = Inquiry{Groups: names(w.Groups), Topics: names(w.Topics), Partitions: partitions(w.Partitions), RecordTime: w.RecordTime}
	for _, e := range w.Epochs {
		q.Epochs = append(q.Epochs, EpochEnd{Topic: string(e.Topic), Partition: e.Partition, Epoch: e.Epoch})
	}
	return nil
}

type factsJSON struct {
	KafkaClusterID ledger.Text      `json:"kafka_cluster_id"`
	At             ledger.Time      `json:"at"`
	FromLedger     bool             `json:"from_ledger"`
	RetentionMS    int64            `json:"retention_ms"`
	Groups         []groupFactsJSON `json:"groups"`
	Topics         []topicFactsJSON `json:"topics"`
}

type groupFactsJSON struct {
	Group      ledger.Text       `json:"group"`
	Exists     bool              `json:"exists"`
	State      string            `json:"state"`
	Type       string            `json:"type"`
	EmptySince ledger.Time       `json:"empty_since"`
	Simple     bool              `json:"simple"`
	Members    []memberFactsJSON `json:"members"`
	Rows       []rowJSON         `json:"rows"`
	Pending    []keyJSON         `json:"pending"`
	Problem    string            `json:"problem,omitempty"`
}

type memberFactsJSON struct {
	ID             ledger.Text `json:"member_id"`
	InstanceID     ledger.Text `json:"instance_id"`
	ClientID       ledger.Text `json:"client_id"`
	Host           ledger.Text `json:"host"`
	SessionTimeout int32       `json:"session_timeout_ms"`
}

type rowJSON struct {
	Topic      ledger.Text  `json:"topic"`
	Partition  int32        `json:"partition"`
	TopicID    uuid.UUID    `json:"topic_id"`
	Offset     int64        `json:"offset"`
	Epoch      ledger.Epoch `json:"leader_epoch"`
	Metadata   ledger.Text  `json:"metadata"`
	CommitTime ledger.Time  `json:"commit_time"`
}

type topicFactsJSON struct {
	Topic      ledger.Text          `json:"topic"`
	Exists     bool                 `json:"exists"`
	ID         uuid.UUID            `json:"topic_id"`
	Partitions []partitionFactsJSON `json:"partitions"`
	Problem    string               `json:"problem,omitempty"`
}

type partitionFactsJSON struct {
	Partition int32        `json:"partition"`
	Log       *Bounds      `json:"log"`
	Epoch     ledger.Epoch `json:"leader_epoch"`
	Epochs    []keyJSON    `json:"epochs"`
	Found     *FoundRecord `json:"found"`
}

// MarshalJSON writes the facts.
func (f Facts) MarshalJSON() ([]byte, error) {
	w := factsJSON{KafkaClusterID: ledger.Text(f.KafkaClusterID), At: f.At, FromLedger: f.FromLedger, RetentionMS: f.Retention.Milliseconds()}
	for i := range f.Groups {
		w.Groups = append(w.Groups, f.Groups[i].written())
	}
	for i := range f.Topics {
		t := &f.Topics[i]
		out := topicFactsJSON{Topic: ledger.Text(t.Name), Exists: t.Exists, ID: t.ID, Problem: t.Problem}
		for _, p := range t.Partitions {
			part := partitionFactsJSON{Partition: p.Partition, Log: p.Log, Epoch: p.Epoch, Found: p.Found}
			for _, e := range p.Epochs {
				part.Epochs = append(part.Epochs, keyJSON{Topic: ledger.Text(e.Topic), Partition: e.Partition, Epoch: e.Epoch, End: &e.End})
			}
			out.Partitions = append(out.Partitions, part)
		}
		w.Topics = append(w.Topics, out)
	}
	return canonical(w)
}

func (g *GroupFacts) written() groupFactsJSON {
	out := groupFactsJSON{
		Group: ledger.Text(g.Name), Exists: g.Exists, State: g.State, Type: g.Type.String(), EmptySince: g.EmptySince,
		Simple: g.Simple, Pending: keys(g.Pending), Problem: g.Problem,
	}
	for _, m := range g.Members {
		out.Members = append(out.Members, memberFactsJSON{
			ledger.Text(m.ID), ledger.Text(m.InstanceID), ledger.Text(m.ClientID), ledger.Text(m.Host), m.SessionTimeoutMillis,
		})
	}
	for _, r := range g.Rows {
		out.Rows = append(out.Rows, rowJSON{
			ledger.Text(r.Topic), r.Partition, r.TopicID, r.At, r.LeaderEpoch, ledger.Text(r.Metadata), r.CommitTime,
		})
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Facts) UnmarshalJSON(b []byte) error {
	var w factsJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*f = Facts{KafkaClusterID: string(w.KafkaClusterID), At: w.At, FromLedger: w.FromLedger, Retention: time.Duration(w.RetentionMS) * time.Millisecond}
	for i := range w.Groups {
		g, err := w.Groups[i].facts()
		if err != nil {
			return err
		}
		f.Groups = append(f.Groups, g)
	}
	for _, t := range w.Topics {
		out := TopicFacts{Name: string(t.Topic), Exists: t.Exists, ID: t.ID, Problem: t.Problem}
		for _, p := range t.Partitions {
			part := PartitionFacts{Partition: p.Partition, Log: p.Log, Epoch: p.Epoch, Found: p.Found}
			for _, e := range p.Epochs {
				if e.End != nil {
					part.Epochs = append(part.Epochs, EpochEnd{Topic: string(e.Topic), Partition: e.Partition, Epoch: e.Epoch, End: *e.End})
				}
			}
			out.Partitions = append(out.Partitions, part)
		}
		f.Topics = append(f.Topics, out)
	}
	f.Sort()
	return nil
}

func (w *groupFactsJSON) facts() (GroupFacts, error) {
	g := GroupFacts{
		Name: string(w.Group), Exists: w.Exists, State: w.State, EmptySince: w.EmptySince, Simple: w.Simple,
		Pending: partitions(w.Pending), Problem: w.Problem,
	}
	var ok bool
	if g.Type, ok = typeOf(w.Type); !ok {
		return g, planFault("facts.groups.type", "%q is no type of a group", w.Type)
	}
	for _, m := range w.Members {
		g.Members = append(g.Members, ledger.Member{
			ID: string(m.ID), InstanceID: string(m.InstanceID), ClientID: string(m.ClientID), Host: string(m.Host),
			SessionTimeoutMillis: m.SessionTimeout,
		})
	}
	for _, r := range w.Rows {
		g.Rows = append(g.Rows, ledger.Offset{
			Topic: string(r.Topic), TopicID: r.TopicID, Partition: r.Partition, At: r.Offset, LeaderEpoch: r.Epoch,
			Metadata: string(r.Metadata), CommitTime: r.CommitTime,
		})
	}
	return g, nil
}

func texts(names []string) []ledger.Text {
	out := make([]ledger.Text, len(names))
	for i, n := range names {
		out[i] = ledger.Text(n)
	}
	return out
}

func names(texts []ledger.Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, string(t))
	}
	return out
}

func keys(tps []ledger.TopicPartition) []keyJSON {
	out := make([]keyJSON, len(tps))
	for i, tp := range tps {
		out[i] = keyJSON{Topic: ledger.Text(tp.Topic), Partition: tp.Partition}
	}
	return out
}

func partitions(keys []keyJSON) []ledger.TopicPartition {
	var out []ledger.TopicPartition
	for _, k := range keys {
		out = append(out, ledger.TopicPartition{Topic: string(k.Topic), Partition: k.Partition})
	}
	return out
}
