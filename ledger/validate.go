package ledger

import (
	"errors"
	"fmt"
)

// Validate returns everything that is wrong with e, joined, or nil. The error matches
// [ErrInvalid]. It is for writers: it refuses an event that says less or more than its kind,
// but nothing that Kafka can store, such as negative offsets, the empty group or names and
// metadata of any bytes.
func (e *Event) Validate() error {
	var c check
	e.validateEnvelope(&c)
	e.validateScope(&c)
	e.validatePayload(&c)
	e.validateRows(&c)
	e.validateContent(&c)
	if len(c.faults) == 0 {
		return nil
	}
	if more := len(c.faults) - maxFaults; more > 0 {
		c.faults = append(c.faults[:maxFaults], fmt.Errorf("and %d more", more))
	}
	return fmt.Errorf("%w %s event: %w", ErrInvalid, e.Kind, errors.Join(c.faults...))
}

// maxFaults bounds the message about an event whose every row is wrong.
const maxFaults = 20

// check collects faults.
type check struct{ faults []error }

// that records a fault unless ok.
func (c *check) that(ok bool, format string, args ...any) {
	if !ok {
		c.fault(format, args...)
	}
}

// fault records a fault. What is looked at in every event uses it: to pass arguments to that
// costs more than to look.
func (c *check) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// rule says what an event of a kind holds beside its envelope.
type rule struct {
	scope   scope
	payload string // name of the payload it must have; empty for none
	rows    bool   // it may have rows
	needs   bool   // it must have at least one
	dated   bool   // its rows have an effective time
	updates bool
	before  bool
	cause   bool
}

type scope int

const (
	scopeCluster scope = iota
	scopeGroup
	scopeTopic
)

var rules = [...]rule{
	KindUpdated:    {scope: scopeGroup, rows: true, needs: true, dated: true},
	KindCommitted:  {scope: scopeGroup, rows: true, needs: true, dated: true, updates: true},
	KindReset:      {scope: scopeGroup, rows: true, needs: true, dated: true, before: true},
	KindDeleted:    {scope: scopeGroup, rows: true, needs: true, dated: true, cause: true},
	KindFailed:     {scope: scopeGroup, rows: true, needs: true, dated: true, cause: true},
	KindIntent:     {scope: scopeGroup, rows: true, needs: true, before: true},
	KindClaim:      {scope: scopeGroup, payload: "claim"},
	KindCheckpoint: {scope: scopeGroup, payload: "checkpoint", rows: true},
	KindGroup:      {scope: scopeGroup, payload: "membership"},
	KindTopic:      {scope: scopeTopic, payload: "topic_info"},
	KindWatermarks: {payload: "watermarks"},
	KindCursor:     {payload: "cursor"},
	KindGap:        {payload: "gap", rows: true, cause: true},
	KindOpaque:     {payload: "opaque"},
	KindOperator:   {payload: "operation"},
	KindSnapshot:   {payload: "snapshot"},
}

// rule is false for a kind that this version does not know: it must not write one.
func (e *Event) rule() (rule, bool) {
	if e.Kind <= 0 || int(e.Kind) >= len(rules) {
		return rule{}, false
	}
	r := rules[e.Kind]
	if e.OfGroup() {
		r.scope = scopeGroup
	}
	return r, true
}

func (e *Event) validateEnvelope(c *check) {
	if _, known := e.rule(); !known {
		c.fault("kind %d is not one of this version", int32(e.Kind))
	}
	if e.ID.Version() != 7 {
		c.fault("id %s is no UUIDv7", e.ID)
	}
	c.that(e.Cluster != "", "no cluster")
	c.that(e.Time.Known(), "no time")
	if e.NotBefore.After(e.Time) {
		c.fault("not before %s, which is after its time %s", e.NotBefore, e.Time)
	}
	if e.Source.Kind < SourceTail || e.Source.Kind > SourceOperator {
		c.fault("source kind %d is not one of this version", int32(e.Source.Kind))
	}
	whole := e.Part == 0 && e.Parts == 0
	if !whole && (e.Parts < 2 || e.Part < 1 || e.Part > e.Parts) {
		c.fault("part %d of %d", e.Part, e.Parts)
	}
	if n := e.rowCount(); n > MaxRows && !whole { // a whole event can be cut
		c.fault("%d rows, and at most %d fit", n, MaxRows)
	}
}

func (e *Event) validateScope(c *check) {
	r, known := e.rule()
	if !known {
		return
	}
	if e.Group != "" && r.scope != scopeGroup {
		c.fault("group %q of an event that is not about a group", e.Group)
	}
	if (e.Topic != "") != (r.scope == scopeTopic) {
		c.fault("topic %q", e.Topic)
	}
	if !r.cause && (e.Cause != CauseUnknown || e.CauseInferred) {
		c.fault("cause %s", e.Cause)
	}
	if e.Cause < 0 || int(e.Cause) >= len(causeNames) {
		c.fault("cause %d is not one of this version", int32(e.Cause))
	}
}

func (e *Event) validatePayload(c *check) {
	r, known := e.rule()
	if !known {
		return
	}
	for _, p := range [...]struct {
		name  string
		there bool
	}{
		{"membership", e.Membership != nil},
		{"topic_info", e.TopicInfo != nil},
		{"watermarks", e.Watermarks != nil},
		{"cursor", e.Cursor != nil},
		{"gap", e.Gap != nil},
		{"opaque", e.Opaque != nil},
		{"claim", e.Claim != nil},
		{"checkpoint", e.Checkpoint != nil},
		{"operation", e.Operation != nil},
		{"snapshot", e.Snapshot != nil},
	} {
		switch needed := p.name == r.payload; {
		case needed && !p.there:
			c.fault("no %s", p.name)
		case p.there && !needed:
			c.fault("a %s", p.name)
		}
	}
}

func (e *Event) validateRows(c *check) {
	r, known := e.rule()
	if !known {
		return
	}
	lists := len(e.Offsets)
	if e.Parts > 0 {
		lists += len(e.Updates) + len(e.Before) // a part may hold rows of the other lists only
	}
	c.that(!r.needs || lists > 0, "no rows")
	if !r.rows && len(e.Offsets) > 0 {
		c.fault("%d rows", len(e.Offsets))
	}
	if !r.updates && len(e.Updates) > 0 {
		c.fault("%d updates", len(e.Updates))
	}
	if !r.before && len(e.Before) > 0 {
		c.fault("%d rows of before", len(e.Before))
	}
	c.that(e.Kind != KindGap || len(e.Offsets) == 0 || e.Gap == nil || e.Gap.OfGroup, "rows in a gap of a source partition")
	for i := range e.Offsets {
		o := &e.Offsets[i]
		if o.Topic == "" {
			c.fault("row %d: no topic", i)
		}
		if r.dated && !o.Effective.Known() {
			c.fault("row %d: no effective time", i)
		}
		if o.ErrorCode != 0 && e.Kind != KindFailed {
			c.fault("row %d: error code %d", i, o.ErrorCode)
		}
	}
	for i := range e.Updates {
		if e.Updates[i].Topic == "" {
			c.fault("update %d: no topic", i)
		}
	}
	for i := range e.Before {
		if e.Before[i].Topic == "" {
			c.fault("row %d of before: no topic", i)
		}
	}
}

// validateContent looks into the payload that is there.
func (e *Event) validateContent(c *check) {
	switch {
	case e.Membership != nil:
		m := e.Membership
		oneMember := m.RecordType == RecordMember || m.RecordType == RecordAssignment
		c.that(!oneMember || len(m.Members) == 1, "%d members from a record of one", len(m.Members))
	case e.TopicInfo != nil:
		c.that(e.TopicInfo.Partitions >= 0, "%d partitions", e.TopicInfo.Partitions)
		c.that(!e.TopicInfo.Deleted || !e.TopicInfo.Recreated, "both deleted and recreated")
	case e.Watermarks != nil:
		e.Watermarks.validate(c)
	case e.Cursor != nil:
		e.Cursor.validate(c)
	case e.Gap != nil:
		g := e.Gap
		c.that(g.OfGroup || g.First <= g.Last, "positions %d to %d", g.First, g.Last)
		c.that(!g.To.Known() || !g.From.After(g.To), "times %s to %s", g.From, g.To)
	case e.Opaque != nil:
		c.that(!e.Opaque.ValueNull || len(e.Opaque.Value) == 0, "a value that is null and has %d bytes", len(e.Opaque.Value))
	case e.Claim != nil:
		c.that(e.Claim.Instance != "", "no instance")
	case e.Checkpoint != nil:
		c.that(e.Checkpoint.Name != "", "no name")
	case e.Operation != nil:
		c.that(e.Operation.Action != "", "no action")
	case e.Snapshot != nil:
		c.that(e.Snapshot.Name != "", "no name")
		c.that(e.Snapshot.Seq > 0, "no sequence")
		c.that(len(e.Snapshot.Digest) == 32, "a digest of %d bytes", len(e.Snapshot.Digest))
	}
}

func (w *Watermarks) validate(c *check) {
	c.that(w.Shard >= 0 && w.Shard < WatermarkShards, "shard %d", w.Shard)
	c.that(!w.Complete || len(w.Unanswered) == 0, "complete, and %d topics unanswered", len(w.Unanswered))
	previous, right := "", true
	for i := range w.Rows {
		topic := w.Rows[i].Topic
		if i == 0 || topic != previous {
			previous, right = topic, WatermarkShard(topic) == w.Shard
		}
		if topic == "" {
			c.fault("row %d: no topic", i)
		}
		if !right {
			c.fault("row %d: topic %q is not of shard %d", i, topic, w.Shard)
		}
	}
	for i := range w.Unanswered {
		topic := w.Unanswered[i].Topic
		c.that(topic != "" && WatermarkShard(topic) == w.Shard, "unanswered: topic %q is not of shard %d", topic, w.Shard)
	}
}

func (cur *Cursor) validate(c *check) {
	c.that(cur.Shard != "", "no shard")
	seen := make(map[int32]bool, len(cur.Lines))
	for i := range cur.Lines {
		l := &cur.Lines[i]
		c.that(l.Partition >= 0, "line %d: partition %d", i, l.Partition)
		c.that(!seen[l.Partition], "line %d: partition %d comes twice", i, l.Partition)
		c.that(l.Next >= 0, "line %d: next offset %d", i, l.Next)
		if h := l.Hole; h != nil {
			c.that(0 <= h.First && h.First <= h.Last && h.Last < h.Until, "line %d: hole from %d to %d, until %d", i, h.First, h.Last, h.Until)
		}
		seen[l.Partition] = true
	}
}
