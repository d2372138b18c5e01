package ledger

import "google.golang.org/protobuf/encoding/protowire"

// span is where the offsets of some rows lie.
type span struct{ least, most int64 }

func spanOf(offsets []int64) span {
	s := span{offsets[0], offsets[0]}
	for _, v := range offsets {
		s.least, s.most = min(s.least, v), max(s.most, v)
	}
	return s
}

// base is what the offsets are written as differences to: the least if that makes them
// shorter, else 0.
func (s span) base() int64 {
	if s.least >= 0 && s.least != s.most &&
		protowire.SizeVarint(uint64(s.most-s.least)) == protowire.SizeVarint(uint64(s.most)) {
		return 0
	}
	return s.least
}

// size is the number of bytes that n offsets of the span take at most, without the base.
func (s span) size(n int) int { return n * protowire.SizeVarint(uint64(s.most-s.base())) }

// appendBased writes a column of offsets as differences to a base: one for all, or one for
// each run of rows if that is shorter, because partitions of one topic are mostly about as far
// as each other, and those of another topic somewhere else.
func appendBased(b []byte, base, num protowire.Number, offsets []int64, runs []run) []byte {
	all := spanOf(offsets)
	if len(runs) > 1 && sizeByRun(offsets, runs) < all.size(len(offsets)) {
		return appendBasedByRun(b, base, num, offsets, runs)
	}
	from := all.base()
	if from != 0 {
		var mark int
		b, mark = open(b, base)
		b = shut(protowire.AppendVarint(b, protowire.EncodeZigZag(from)), mark)
	}
	if all.least == all.most {
		return b
	}
	b, mark := open(b, num)
	return shut(appendDifferences(b, offsets, from), mark)
}

// sizeByRun is what a base for each run costs, and the offsets with it.
func sizeByRun(offsets []int64, runs []run) int {
	size := 0
	eachRun(offsets, runs, func(offsets []int64) {
		s := spanOf(offsets)
		size += s.size(len(offsets)) + protowire.SizeVarint(protowire.EncodeZigZag(s.base()))
	})
	return size
}

func appendBasedByRun(b []byte, base, num protowire.Number, offsets []int64, runs []run) []byte {
	b, mark := open(b, base)
	same := true
	eachRun(offsets, runs, func(offsets []int64) {
		s := spanOf(offsets)
		b = protowire.AppendVarint(b, protowire.EncodeZigZag(s.base()))
		same = same && s.least == s.most
	})
	b = shut(b, mark)
	if same {
		return b
	}
	b, mark = open(b, num)
	eachRun(offsets, runs, func(offsets []int64) {
		b = appendDifferences(b, offsets, spanOf(offsets).base())
	})
	return shut(b, mark)
}

// eachRun calls f with the offsets of each run.
func eachRun(offsets []int64, runs []run, f func([]int64)) {
	for i, r := range runs {
		end := len(offsets)
		if i+1 < len(runs) {
			end = runs[i+1].start
		}
		f(offsets[r.start:end])
	}
}

// appendDifferences is the loop that most of the time of encoding goes into.
func appendDifferences(b []byte, offsets []int64, base int64) []byte {
	for _, offset := range offsets {
		switch v := uint64(offset - base); {
		case v < 1<<7:
			b = append(b, byte(v))
		case v < 1<<14:
			b = append(b, byte(v)|0x80, byte(v>>7))
		case v < 1<<21:
			b = append(b, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14))
		default:
			b = protowire.AppendVarint(b, v)
		}
	}
	return b
}
