package projection

import "github.com/offsetledger/offsetledger/ledger"

// Folded returns the record that the last Apply has folded: of an event that was cut in parts,
// the whole. It is false while parts of it are still to come, and valid until the next Apply.
func (s *State) Folded() (*ledger.Record, bool) {
	return &s.rec, s.rec.Seq != 0 && s.rec.Seq == s.seq && s.rec.Event.Parts == 0
}

// gather takes in a part of an event that was cut because it was too large for one message. It
// returns false until the last part: then the record is the whole event, as if it had been
// stored at the sequence of that part. Half an event is nothing that ever was true, so that
// the state between two parts is the one before the first.
//
// The parts of an event stand next to each other in the log, also in a read that leaves other
// subjects out. What is not followed by its next part was never stored whole: it is forgotten.
func (s *State) gather(rec *ledger.Record) bool {
	ev := &rec.Event
	if n := len(s.parts); n > 0 && (ev.ID != s.parts[0].ID || int(ev.Part) != n+1 || ev.Parts != s.parts[0].Parts) {
		s.parts = nil
	}
	if ev.Parts == 0 {
		return true
	}
	if int(ev.Part) != len(s.parts)+1 {
		return false
	}
	if ev.Part < ev.Parts {
		s.parts = append(s.parts, ev.Clone()) // a record is valid until the next one is read
		return false
	}
	whole, err := ledger.Join(append(s.parts, *ev))
	s.parts = nil
	if err != nil {
		return false // the log holds no such event: its parts have one id and two kinds
	}
	rec.Event = whole
	return true
}
