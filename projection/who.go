package projection

import "github.com/offsetledger/offsetledger/ledger"

// Who is shared by many Changes and never written to; these need nothing of the group.
var (
	whoEarly = &Who{Kind: WhoUnknown, Inferred: true, Evidence: []string{
		"capture had not caught up: the group's members at this position are not known yet"}}
	whoSimple = &Who{Kind: WhoNoMember, Inferred: true, Evidence: []string{
		"the group has no group record: a consumer that assigns its partitions itself, or an admin tool"}}
	whoBareSimple = &Who{Kind: WhoNoMember, Inferred: true, Bare: true, Evidence: append(whoSimple.Evidence, bareEvidence)}
	whoSentBefore = &Who{Kind: WhoUnknown, Inferred: true, Evidence: []string{
		"the transaction sent it before the group's last change of members"}}
	whoAsked = &Who{Kind: WhoUnknown, Inferred: true, Evidence: []string{
		"asked of the broker, which does not tell who committed"}}
	whoBroker = &Who{Kind: WhoBroker, Inferred: true, Evidence: []string{
		"the broker deletes by itself what has expired or has no topic any more"}}
	whoAdmin = &Who{Kind: WhoNoMember, Inferred: true, Evidence: []string{
		"only an admin request deletes offsets that have not expired"}}
)

// prepareWho works out what is the same for all rows of the event.
func (f *folding) prepareWho() {
	m := &f.g.members
	switch f.ev.Source.Kind {
	case ledger.SourceManager:
		f.by = f.s.teller(WhoManager, f.ev.Source.Instance)
	case ledger.SourceOperator:
		f.by = f.s.teller(WhoOperator, f.ev.Source.Instance)
	case ledger.SourcePoll, ledger.SourceReconcile:
		f.by = whoAsked
	default:
		switch {
		case m.recorded:
			f.outsider, f.bareOutsider = m.outsider, m.bareOutsider
		case f.c.capture.caughtUp(f.ev.Source.Partition):
			f.outsider, f.bareOutsider = whoSimple, whoBareSimple
		default:
			f.outsider, f.bareOutsider = whoEarly, whoEarly
		}
	}
}

// who says who committed row r. Metadata that is the id of a present member names it, else
// the member that alone has the partition assigned, else only who was there is known.
func (f *folding) who(r *ledger.Offset, cl *cell) *Who {
	if f.by != nil {
		return f.by
	}
	if r.Metadata != "" && len(f.g.members.members) > 0 {
		if r.Metadata != f.metadata {
			f.metadata, f.metadataWho = r.Metadata, nil
			if i, ok := f.g.members.find(r.Metadata); ok {
				f.metadataWho = f.g.members.members[i].byMetadata
			}
		}
		if f.metadataWho != nil {
			return f.metadataWho
		}
	}
	if f.transactional && r.SourceOffset < f.g.members.position {
		return whoSentBefore // a marker can come after its producer has left the group
	}
	if w := f.g.members.ownerWho(cl.owner); w != nil {
		return w
	}
	if _, known := r.LeaderEpoch.Get(); !known && r.Metadata == "" {
		return f.bareOutsider
	}
	return f.outsider
}

// whoRemoved says who deleted, as far as the cause tells.
func (f *folding) whoRemoved() *Who {
	switch {
	case f.by != nil && f.by != whoAsked:
		return f.by
	case f.ev.Cause == ledger.CauseExpired, f.ev.Cause == ledger.CauseTopicDeleted, f.ev.Cause == ledger.CauseTruncated:
		return whoBroker
	case f.ev.Cause == ledger.CauseDeleted, f.ev.Cause == ledger.CauseGroupDeleted:
		return whoAdmin
	}
	return whoAsked
}

// teller is the manager or operator that told what it did itself. It is made once per name.
func (s *State) teller(kind WhoKind, instance string) *Who {
	key := Who{Kind: kind, ClientID: instance}
	for _, w := range s.tellers {
		if w.Kind == key.Kind && w.ClientID == key.ClientID {
			return w
		}
	}
	if len(s.tellers) >= maxTellers {
		s.tellers = s.tellers[:0]
	}
	s.tellers = append(s.tellers, &key)
	return &key
}

// maxTellers bounds what is kept: every restart of a manager is another instance.
const maxTellers = 64
