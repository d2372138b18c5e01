package ledger

// Expect is a condition of an append: of the stored messages whose subjects Filter matches,
// the last has sequence Seq. If not, nothing is stored and the append fails with
// [ErrConflict].
type Expect struct {
	Filter string // a subject, or one with wildcards
	Seq    uint64 // 0: there is none yet
}

// Receipt says where an append was stored: its events have the sequences First to Last.
type Receipt struct {
	First, Last uint64
}

// Filter selects events by subject. The zero Filter selects all. A pattern is a subject in
// which `*` stands for one token and a last `>` for one or more.
type Filter struct {
	Subjects []string
}
