package ledger

// Bounds of a table of strings: at most so many, none longer.
const (
	maxInterned    = 1 << 14
	maxInternedLen = 512
)

// interned makes strings of bytes, and the same string of the same bytes, so that decoding
// millions of events that name the same groups and topics allocates none of them twice. It
// is emptied when full.
type interned struct {
	table map[string]string
}

func (t *interned) of(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case len(b) > maxInternedLen:
		return string(b)
	}
	if s, ok := t.table[string(b)]; ok {
		return s
	}
	switch {
	case t.table == nil:
		t.table = make(map[string]string)
	case len(t.table) >= maxInterned:
		clear(t.table)
	}
	s := string(b)
	t.table[s] = s
	return s
}

// again is of for bytes that are likely to be those of a string at hand.
func (t *interned) again(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return t.of(b)
}
