package projection

import "github.com/offsetledger/offsetledger/ledger"

// OffsetInfo is what is known of the committed offset of one partition of one group.
type OffsetInfo struct {
	Offset        int64        // the next offset to read
	LeaderEpoch   ledger.Epoch // of the last record before Offset
	HighWatermark Value        // the end of the partition's log when it was last told; none if that is old: then there is no lag
	Metadata      string       // free text of the committer, at most 4,096 bytes in Kafka
	LastUpdated   ledger.Time  // when Offset came true
}

// Lag is how many offsets lie between Offset and the high watermark: never negative. It is
// false if the high watermark is not known, or if either is no offset that can be read from.
func (i OffsetInfo) Lag() (int64, bool) {
	if !i.HighWatermark.Exists {
		return 0, false
	}
	l := LagOf(Value{At: i.Offset, Exists: true}, ledger.Time{}, &Watermark{LogEnd: i.HighWatermark.At, LastStable: i.HighWatermark.At})
	return l.Records, l.Known
}

// Offsets are the committed offsets of a group as of the state, with the ends of the logs
// where they were observed. Partitions whose offset went away are not among them.
func (s *State) Offsets(cluster, group string) map[ledger.TopicPartition]OffsetInfo {
	out := map[ledger.TopicPartition]OffsetInfo{}
	for _, p := range s.Partitions(cluster, group) {
		if !p.Committed.Exists {
			continue
		}
		out[ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}] = s.offsetInfo(cluster, &p)
	}
	return out
}

// offsetInfo is what a partition with a committed offset comes to.
func (s *State) offsetInfo(cluster string, p *Partition) OffsetInfo {
	info := OffsetInfo{Offset: p.Committed.At, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, LastUpdated: p.Effective}
	if w, ok := s.Watermark(cluster, p.Topic, p.Partition); ok && !w.Old && !p.OtherTopic {
		info.HighWatermark = Value{At: w.LogEnd, Exists: true}
	}
	return info
}
