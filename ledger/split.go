package ledger

import "fmt"

// Split cuts an event that encodes to more than limit bytes into parts that do not, and
// returns e alone when it fits. Parts are numbered from 1 and share everything but what is
// cut: each takes its share of every list (rows, updates, before, members, watermarks and the
// topics of those unanswered, lines of a cursor) and of the bytes of an opaque record or an
// operation, in order. So the rows of a part can be folded by themselves, and [Join] puts the
// whole together again.
//
// The parts share memory with e. It fails with [ErrTooLarge] when an element that is not cut
// (a row, a member) is too large by itself, and when e is a part already. What cannot be
// stored so can always be as the opaque record that it came from: nothing is shortened.
func (e *Event) Split(limit int) ([]Event, error) {
	b, err := e.AppendBinary(nil)
	if err == nil && len(b) <= limit {
		return []Event{*e}, nil
	}
	if e.Parts != 0 {
		return nil, fmt.Errorf("split part %d of %d: %w", e.Part, e.Parts, ErrTooLarge)
	}
	if e.Cursor != nil {
		c := *e.Cursor
		c.Lines = cutLines(c.Lines)
		cut := *e
		cut.Cursor = &c
		e = &cut
	}
	most := e.pieces()
	for n := max(2, min(most, len(b)/max(limit, 1))); n <= most; n += 1 + n/8 {
		parts, fit := e.cut(n, limit)
		if fit {
			return parts, nil
		}
	}
	return nil, fmt.Errorf("split event into parts of %d bytes: one of its elements is larger: %w", limit, ErrTooLarge)
}

// pieces is the largest number of parts that can each have something of the event.
func (e *Event) pieces() int {
	n := max(len(e.Offsets), len(e.Updates), len(e.Before))
	switch {
	case e.Membership != nil:
		n = max(n, len(e.Membership.Members))
	case e.Watermarks != nil:
		n = max(n, len(e.Watermarks.Rows), len(e.Watermarks.Unanswered))
	case e.Cursor != nil:
		n = max(n, len(e.Cursor.Lines))
	case e.Opaque != nil:
		n = max(n, len(e.Opaque.Key), len(e.Opaque.Value))
	case e.Operation != nil:
		n = max(n, len(e.Operation.Body))
	}
	return n
}

// cut returns the n parts of e, and whether all of them are within limit.
func (e *Event) cut(n, limit int) ([]Event, bool) {
	parts := make([]Event, n)
	var b []byte
	for i := range parts {
		parts[i] = e.share(i, n)
		var err error
		if b, err = parts[i].AppendBinary(b[:0]); err != nil || len(b) > limit {
			return nil, false
		}
	}
	return parts, true
}

// share returns part i, from 0, of n. What a newer version wrote stays with the first.
func (e *Event) share(i, n int) Event {
	p := *e
	p.Part, p.Parts = int32(i+1), int32(n)
	p.Offsets = portion(e.Offsets, i, n)
	p.Updates = portion(e.Updates, i, n)
	p.Before = portion(e.Before, i, n)
	if p.Membership = cloned(e.Membership); p.Membership != nil {
		p.Membership.Members = portion(e.Membership.Members, i, n)
	}
	if p.Watermarks = cloned(e.Watermarks); p.Watermarks != nil {
		p.Watermarks.Rows = portion(e.Watermarks.Rows, i, n)
		p.Watermarks.Unanswered = portion(e.Watermarks.Unanswered, i, n)
	}
	if p.Cursor = cloned(e.Cursor); p.Cursor != nil {
		p.Cursor.Lines = joinLines(portion(e.Cursor.Lines, i, n))
	}
	if p.Opaque = cloned(e.Opaque); p.Opaque != nil {
		p.Opaque.Key = portion(e.Opaque.Key, i, n)
		p.Opaque.Value = portion(e.Opaque.Value, i, n)
	}
	if p.Operation = cloned(e.Operation); p.Operation != nil {
		p.Operation.Body = portion(e.Operation.Body, i, n)
	}
	if i > 0 {
		p.unknown, p.inner = nil, nil
	}
	return p
}

// portion is share i of n of a list; the list that is nil stays nil.
func portion[S ~[]E, E any](s S, i, n int) S {
	from, to := len(s)*i/n, len(s)*(i+1)/n
	return s[from:to:to]
}

// Join puts the parts of one valid event together again, in the order in which they are
// stored. It fails with [ErrInvalid] when they are not the parts 1 to n of one event.
func Join(parts []Event) (Event, error) {
	if len(parts) == 1 && parts[0].Parts == 0 {
		return parts[0], nil
	}
	for i := range parts {
		p := &parts[i]
		if p.ID != parts[0].ID || p.Kind != parts[0].Kind || int(p.Part) != i+1 || int(p.Parts) != len(parts) {
			return Event{}, fmt.Errorf("join %d parts: number %d is part %d of %d of %s event %s: %w",
				len(parts), i+1, p.Part, p.Parts, p.Kind, p.ID, ErrInvalid)
		}
	}
	if len(parts) == 0 {
		return Event{}, fmt.Errorf("join no parts: %w", ErrInvalid)
	}
	whole := parts[0].Clone()
	whole.Part, whole.Parts = 0, 0
	for i := range parts[1:] {
		whole.add(parts[i+1].Clone())
	}
	return whole, nil
}

// add appends what part p holds of the lists that Split cuts.
func (e *Event) add(p Event) {
	e.Offsets = append(e.Offsets, p.Offsets...)
	e.Updates = append(e.Updates, p.Updates...)
	e.Before = append(e.Before, p.Before...)
	switch {
	case e.Membership != nil && p.Membership != nil:
		e.Membership.Members = append(e.Membership.Members, p.Membership.Members...)
	case e.Watermarks != nil && p.Watermarks != nil:
		e.Watermarks.Rows = append(e.Watermarks.Rows, p.Watermarks.Rows...)
		e.Watermarks.Unanswered = append(e.Watermarks.Unanswered, p.Watermarks.Unanswered...)
	case e.Cursor != nil && p.Cursor != nil:
		e.Cursor.Lines = joinLines(append(e.Cursor.Lines, p.Cursor.Lines...))
	case e.Opaque != nil && p.Opaque != nil:
		e.Opaque.Key = append(e.Opaque.Key, p.Opaque.Key...)
		e.Opaque.Value = append(e.Opaque.Value, p.Opaque.Value...)
	case e.Operation != nil && p.Operation != nil:
		e.Operation.Body = append(e.Operation.Body, p.Operation.Body...)
	}
}
