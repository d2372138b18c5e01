package ledger

import "slices"

// Clone returns a copy of e that shares no slices with it.
func (e Event) Clone() Event {
	e.Offsets = slices.Clone(e.Offsets)
	e.Updates = slices.Clone(e.Updates)
	e.Before = slices.Clone(e.Before)
	e.Membership = e.Membership.clone()
	e.TopicInfo = cloned(e.TopicInfo)
	e.Cursor = e.Cursor.clone()
	e.Gap = cloned(e.Gap)
	e.Claim = cloned(e.Claim)
	e.Checkpoint = cloned(e.Checkpoint)
	if e.Watermarks = cloned(e.Watermarks); e.Watermarks != nil {
		e.Watermarks.Rows = slices.Clone(e.Watermarks.Rows)
		e.Watermarks.Unanswered = cloneTopicPartitions(e.Watermarks.Unanswered)
	}
	if e.Opaque = cloned(e.Opaque); e.Opaque != nil {
		e.Opaque.Key = slices.Clone(e.Opaque.Key)
		e.Opaque.Value = slices.Clone(e.Opaque.Value)
	}
	if e.Operation = cloned(e.Operation); e.Operation != nil {
		e.Operation.Body = slices.Clone(e.Operation.Body)
	}
	if e.Snapshot = cloned(e.Snapshot); e.Snapshot != nil {
		e.Snapshot.Digest = slices.Clone(e.Snapshot.Digest)
	}
	e.unknown = slices.Clone(e.unknown)
	e.inner = slices.Clone(e.inner)
	for i := range e.inner {
		e.inner[i].fields = slices.Clone(e.inner[i].fields)
	}
	return e
}

func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func (m *Membership) clone() *Membership {
	c := cloned(m)
	if c == nil {
		return nil
	}
	c.Members = slices.Clone(c.Members)
	for i := range c.Members {
		m := &c.Members[i]
		m.Subscriptions = slices.Clone(m.Subscriptions)
		m.Assigned = cloneTopicPartitions(m.Assigned)
		m.unknown = slices.Clone(m.unknown)
	}
	return c
}

func cloneTopicPartitions(s []TopicPartitions) []TopicPartitions {
	s = slices.Clone(s)
	for i := range s {
		s[i].Partitions = slices.Clone(s[i].Partitions)
		s[i].unknown = slices.Clone(s[i].unknown)
	}
	return s
}

func (c *Cursor) clone() *Cursor {
	n := cloned(c)
	if n == nil {
		return nil
	}
	n.Lines = slices.Clone(n.Lines)
	for i := range n.Lines {
		open := slices.Clone(n.Lines[i].Open)
		for j := range open {
			open[j].Rows = slices.Clone(open[j].Rows)
			open[j].unknown = slices.Clone(open[j].unknown)
		}
		n.Lines[i].Open = open
		if h := cloned(n.Lines[i].Hole); h != nil {
			h.unknown = slices.Clone(h.unknown)
			n.Lines[i].Hole = h
		}
	}
	return n
}
