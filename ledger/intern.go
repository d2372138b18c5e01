package ledger

import "hash/maphash"

// Bounds of the tables of strings: none holds longer ones, nor more.
const (
	maxInternedLen = 512
	maxNames       = 1 << 14
	maxTexts       = 1 << 10
)

// names makes strings of bytes, and the same string of the same bytes, so that decoding
// millions of events about the same groups and topics allocates none of them twice. It is
// emptied when full.
type names struct{ table map[string]string }

func (t *names) of(b []byte) string {
	if s, ok := t.table[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(b) == 0 || len(b) > maxInternedLen {
		return s
	}
	switch {
	case t.table == nil:
		t.table = make(map[string]string)
	case len(t.table) >= maxNames:
		clear(t.table)
	}
	t.table[s] = s
	return s
}

// again is of for bytes that are likely to be those of a string at hand.
func (t *names) again(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return t.of(b)
}

// texts does the same for metadata and other free text, which may be the same in all rows of a
// group or another in each commit: every text has one place, where it replaces what was there.
type texts struct {
	seed  maphash.Seed
	table []string
}

func (t *texts) of(b []byte) string {
	if len(b) == 0 || len(b) > maxInternedLen {
		return string(b)
	}
	if t.table == nil {
		t.seed, t.table = maphash.MakeSeed(), make([]string, maxTexts)
	}
	place := &t.table[maphash.Bytes(t.seed, b)%maxTexts]
	if *place != string(b) {
		*place = string(b)
	}
	return *place
}
