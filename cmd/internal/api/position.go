package api

import (
	"strconv"
	"strings"
)

// Position is a place in a stream of rows, to resume after: the last row that came. The zero
// Position is the beginning.
type Position struct {
	Seq uint64 // of the event
	// Row is the row of the event, if Within. Otherwise the place is behind the whole event.
	Row    int
	Within bool
}

// String spells p as the parameter from takes it: SEQ, or SEQ.ROW.
func (p Position) String() string {
	s := strconv.FormatUint(p.Seq, 10)
	if p.Within {
		s += "." + strconv.Itoa(p.Row)
	}
	return s
}

// parsePosition is the inverse of [Position.String].
func parsePosition(text string) (p Position, ok bool) {
	seq, row, within := strings.Cut(text, ".")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		return Position{}, false
	}
	p = Position{Seq: n, Within: within}
	if within {
		r, err := strconv.ParseUint(row, 10, 31)
		if err != nil {
			return Position{}, false
		}
		p.Row = int(r)
	}
	return p, true
}

// first is the first sequence of which something comes after p.
func (p Position) first() uint64 {
	if p.Within {
		return p.Seq
	}
	return p.Seq + 1
}

// passed reports whether a row of an event came at or before p.
func (p Position) passed(seq uint64, row int) bool {
	return seq < p.Seq || seq == p.Seq && (!p.Within || row <= p.Row)
}
