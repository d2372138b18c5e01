package projection

import "slices"

// AllPartitions returns what [State.Partitions] does, and the partitions of the group's topics
// that it has nothing for, so that they are seen to have nothing. Of a topic whose partition
// count is not known, or of which the group has no offset any more, there are none.
func (s *State) AllPartitions(cluster, name string) []Partition {
	has := s.Partitions(cluster, name)
	var out []Partition
	for len(has) > 0 {
		n, topic, live := 0, has[0].Topic, false
		for ; n < len(has) && has[n].Topic == topic; n++ {
			live = live || has[n].Committed.Exists && !has[n].OtherTopic
		}
		out = append(out, has[:n]...)
		if t, ok := s.Topic(cluster, topic); ok && t.Counted && live {
			out = append(out, uncommitted(&t, has[:n])...)
		}
		has = has[n:]
	}
	slices.SortFunc(out, comparePartitions)
	return out
}

// uncommitted are the partitions of a topic that has, sorted, does not hold.
func uncommitted(t *Topic, has []Partition) []Partition {
	var out []Partition
	for p := range t.Partitions {
		for len(has) > 0 && has[0].Partition < p {
			has = has[1:]
		}
		if len(has) == 0 || has[0].Partition != p {
			out = append(out, Partition{Topic: t.Name, TopicID: t.ID, Partition: p, Position: noPosition})
		}
	}
	return out
}

// WithLater adds to the sorted partitions of a moment those that now, sorted too, has a row of
// and then has not: of a moment before history what they had is not known.
func WithLater(then, now []Partition) []Partition {
	out := slices.Clone(then)
	for i := range now {
		p := &now[i]
		if _, had := slices.BinarySearchFunc(then, *p, comparePartitions); !had {
			out = append(out, Partition{Topic: p.Topic, TopicID: p.TopicID, Partition: p.Partition, Position: noPosition})
		}
	}
	slices.SortFunc(out, comparePartitions)
	return out
}
