package replay

import (
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Learn adds to facts what Kafka does not tell and the ledger knows: since when groups are
// empty, which never had a member, and the session timeouts of members.
func (f *Facts) Learn(s *projection.State, cluster string) {
	for i := range f.Groups {
		g := &f.Groups[i]
		known, ok := s.Group(cluster, g.Name)
		if !ok {
			continue
		}
		g.Simple = known.Simple
		if known.State == projection.GroupStateEmpty && len(g.Members) == 0 {
			g.EmptySince = known.Since
		}
		for j := range g.Members {
			m := &g.Members[j]
			at := slices.IndexFunc(known.Members, func(k projection.Member) bool { return k.ID == m.ID })
			if at >= 0 && m.SessionTimeoutMillis == 0 {
				m.SessionTimeoutMillis = known.Members[at].SessionTimeoutMillis
			}
		}
	}
}

// LedgerFacts answers an inquiry from what was recorded, for when no Kafka can be asked. They
// are as old as the oldest that they rest on, which their At says: up to when the groups were read,
// and when the logs were last observed. They tell no epochs.
func LedgerFacts(s *projection.State, cluster string, q Inquiry, now ledger.Time) Facts {
	f := Facts{FromLedger: true, At: now}
	if cover, ok := s.Coverage(cluster); ok {
		f.KafkaClusterID = cover.KafkaClusterID
	}
	wanted := map[string][]int32{}
	for _, t := range q.Topics {
		wanted[t] = append(wanted[t], []int32{}...)
	}
	for _, tp := range q.Partitions {
		wanted[tp.Topic] = append(wanted[tp.Topic], tp.Partition)
	}
	for _, name := range q.Groups {
		f.At = oldest(f.At, s.Through(cluster, &name))
		g := ledgerGroup(s, cluster, name)
		for _, r := range g.Rows {
			wanted[r.Topic] = append(wanted[r.Topic], r.Partition)
		}
		f.Groups = append(f.Groups, g)
	}
	for name, parts := range wanted {
		f.Topics = append(f.Topics, ledgerTopic(s, cluster, name, parts, &f))
	}
	f.Sort()
	return f
}

// oldest is the earlier of two times; unknown if one of them is.
func oldest(a, b ledger.Time) ledger.Time {
	if !a.Known() || !b.Known() {
		return ledger.Time{}
	}
	return ledger.MinTime(a, b)
}

func ledgerGroup(s *projection.State, cluster, name string) GroupFacts {
	g := GroupFacts{Name: name, State: "Dead"}
	known, ok := s.Group(cluster, name)
	if !ok {
		return g
	}
	g.Exists = known.State != projection.GroupStateDeleted
	g.Type, g.Simple = known.Type, known.Simple
	if g.Exists {
		g.State = known.State.String()
	}
	if known.State == projection.GroupStateEmpty {
		g.EmptySince = known.Since
	}
	for i := range known.Members {
		g.Members = append(g.Members, known.Members[i].Member)
	}
	for _, p := range s.Partitions(cluster, name) {
		if p.Pending != nil {
			g.Pending = append(g.Pending, ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition})
		}
		if p.Committed.Exists {
			g.Rows = append(g.Rows, ledger.Offset{
				Topic: p.Topic, TopicID: p.TopicID, Partition: p.Partition, At: p.Committed.At,
				LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, CommitTime: p.CommitTime,
			})
		}
	}
	return g
}

// ledgerTopic tells of a topic what was observed. A committed offset proves that the log is at
// least so long, however old the observation is.
func ledgerTopic(s *projection.State, cluster, name string, parts []int32, f *Facts) TopicFacts {
	known, ok := s.Topic(cluster, name)
	out := TopicFacts{Name: name, ID: known.ID, Exists: (ok || len(parts) > 0) && !known.DeletedAt.Known()}
	if known.Counted {
		for n := range known.Partitions {
			parts = append(parts, n)
		}
	}
	slices.Sort(parts)
	for _, n := range slices.Compact(parts) {
		if n < 0 || known.Counted && n >= known.Partitions {
			continue
		}
		p := PartitionFacts{Partition: n}
		if w, ok := s.Watermark(cluster, name, n); ok {
			p.Log = &Bounds{Start: w.LogStart, LastStable: w.LastStable, End: w.LogEnd}
			f.At = oldest(f.At, w.Observed)
			for i := range f.Groups {
				if r := f.Groups[i].Row(ledger.TopicPartition{Topic: name, Partition: n}); r != nil && r.CommitTime.After(w.Observed) {
					p.Log.End = max(p.Log.End, r.At)
				}
			}
		}
		out.Partitions = append(out.Partitions, p)
	}
	return out
}
