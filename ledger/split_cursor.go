package ledger

// maxPending is how many pending rows a line keeps when a cursor is cut.
const maxPending = 1 << 10

// cutLines returns lines in which a line with very many pending rows stands several times, with
// some of them each, so that a cursor can be cut inside a line.
func cutLines(lines []SourceLine) []SourceLine {
	var cut []SourceLine
	for _, l := range lines {
		piece := l
		piece.Open = nil
		room := maxPending
		for _, o := range l.Open {
			for first := true; first || len(o.Rows) > 0; first = false {
				if room == 0 {
					cut = append(cut, piece)
					piece.Open, room = nil, maxPending
				}
				some := o
				some.Rows = o.Rows[:min(room, len(o.Rows))]
				if !first {
					some.unknown = nil
				}
				piece.Open = append(piece.Open, some)
				room -= max(1, len(some.Rows))
				o.Rows = o.Rows[len(some.Rows):]
			}
		}
		cut = append(cut, piece)
	}
	return cut
}

// joinLines is the inverse of cutLines. It writes to no slice of lines.
func joinLines(lines []SourceLine) []SourceLine {
	var joined []SourceLine
	for _, l := range lines {
		last := len(joined) - 1
		if last < 0 || joined[last].Partition != l.Partition {
			l.Open = l.Open[:len(l.Open):len(l.Open)]
			joined = append(joined, l)
			continue
		}
		for _, o := range l.Open {
			joined[last].Open = joinOpen(joined[last].Open, o)
		}
	}
	return joined
}

// joinOpen adds o to the transactions before it, or its rows to the last if it is the same.
func joinOpen(open []OpenTransaction, o OpenTransaction) []OpenTransaction {
	last := len(open) - 1
	if last < 0 || open[last].ProducerID != o.ProducerID || open[last].First != o.First || len(o.Rows) == 0 {
		return append(open, o)
	}
	whole := open[last]
	whole.Rows = append(whole.Rows[:len(whole.Rows):len(whole.Rows)], o.Rows...)
	return append(open[:last:last], whole)
}
