package api

// Version is the version of the JSON that the routes answer with. Fields may be added
// without a new one.
const Version = 1

// Envelope is what every answer says about itself.
type Envelope struct {
	Kind     string   `json:"kind"` // groups, group, history, events, incidents, incident
	Version  int      `json:"version"`
	Cluster  string   `json:"cluster"`
	AsOf     Time     `json:"as_of"`         // the moment that was asked for
	Seq      uint64   `json:"seq"`           // last sequence that the answer takes into account
	Known    string   `json:"known"`         // how sure: exact, stale or unknown
	Why      string   `json:"why,omitempty"` // unknown: before history, nothing was captured yet
	Coverage Coverage `json:"coverage"`

	present bool // asked for was now, so AsOf is the clock's
}

// envelope is e itself, of whatever answer it is part.
func (e Envelope) envelope() Envelope { return e }

// steady is e without what the clock alone changes: how far capture is behind, and the moment
// if the present was asked for.
func (e Envelope) steady() Envelope {
	e.Coverage.BehindSeconds = nil
	if e.present {
		for _, t := range []*Time{&e.Coverage.From, &e.Coverage.To} {
			if *t == e.AsOf {
				*t = Time{}
			}
		}
		e.AsOf = Time{}
	}
	return e
}

// Coverage says how much of the history an answer rests on.
type Coverage struct {
	// From and To bound the time that the answer is about. From is that of capture's beginning
	// where none was asked for, null while nothing was captured.
	From     Time `json:"from"`
	To       Time `json:"to"`
	Complete bool `json:"complete"` // nothing is missing between From and To
	// Began is when capture began; of times before it only what compaction had left is known.
	Began Time  `json:"began"`
	Gaps  []Gap `json:"gaps"`
	// Source is how the cluster is captured: tail, poll or manager; none while nothing was.
	Source string `json:"source"`
	// BehindSeconds is how far capture is behind; null if capture is away or never was there.
	BehindSeconds *float64 `json:"behind_seconds"`
	// Through is the moment up to which everything was read: what is said of times before it
	// never changes.
	Through Time `json:"complete_through"`
	// Opaque is how many records could not be decoded since the ledger began; they are kept as
	// events of the kind opaque.
	Opaque uint64 `json:"opaque,omitempty"`
	// Problem is why capture is not well; empty if it is.
	Problem string `json:"problem,omitempty"`
}

// Gap is a stretch of possibly missing history.
type Gap struct {
	Seq    uint64 `json:"seq"`
	From   Time   `json:"from"`
	To     Time   `json:"to"`
	Group  *Text  `json:"group"` // null: of a source partition, so of every group in it
	Cause  string `json:"cause"`
	Reason Text   `json:"reason"`
}

// Groups answers GET /api/v1/groups.
type Groups struct {
	Envelope
	Rows  []GroupRow `json:"rows"`
	Total int        `json:"total"` // groups that match, of which Rows may be one page
	Next  *string    `json:"next"`
}

// GroupRow is one group.
type GroupRow struct {
	Group      Text   `json:"group"`
	State      string `json:"state"`
	StateSince Time   `json:"state_since"`
	Type       string `json:"type"`
	Members    int    `json:"members"`
	Topics     int    `json:"topics"`
	Partitions int    `json:"partitions"` // that have a committed offset
	TotalLag   *int64 `json:"total_lag"`  // of the partitions whose lag is known; null if none is
	Unknown    int    `json:"unknown"`    // partitions whose lag is not
	LastMoved  Time   `json:"last_moved"` // when an offset last changed
	DeletedAt  Time   `json:"deleted_at"`
}

// Group answers GET /api/v1/group: one group with its offsets.
type Group struct {
	Envelope
	GroupRow
	MemberRows   []MemberRow  `json:"member_rows"`
	Statistics   Statistics   `json:"statistics"`
	LastIncident *IncidentRow `json:"last_incident"`
	Rows         []OffsetRow  `json:"rows"`
	Next         *string      `json:"next"`
}

// Statistics count what a group did since its first record.
type Statistics struct {
	Commits          uint64 `json:"commits"` // attempts: successes and failures
	Successes        uint64 `json:"successes"`
	Failures         uint64 `json:"failures"`
	OffsetsCommitted uint64 `json:"offsets_committed"`
	Rewinds          uint64 `json:"rewinds"` // of single partitions
	Jumps            uint64 `json:"jumps"`
	LastCommit       Time   `json:"last_commit"`
	// AverageCommitSeconds is how long a commit took, of those whose duration is known; null if
	// none is.
	AverageCommitSeconds *float64 `json:"average_commit_seconds"`
}

// MemberRow is one member of a group.
type MemberRow struct {
	MemberID   Text `json:"member_id"`
	InstanceID Text `json:"instance_id"`
	ClientID   Text `json:"client_id"`
	Host       Text `json:"host"`
}

// OffsetRow is what a group has committed for one partition.
type OffsetRow struct {
	Topic            Text     `json:"topic"`
	TopicID          *string  `json:"topic_id"`
	Partition        int32    `json:"partition"`
	CommittedOffset  *int64   `json:"committed_offset"` // null: none
	LeaderEpoch      *int32   `json:"leader_epoch"`
	Metadata         Text     `json:"metadata"`
	CommitTime       Time     `json:"commit_time"`
	LogStartOffset   *int64   `json:"log_start_offset"`
	LastStableOffset *int64   `json:"last_stable_offset"`
	LogEndOffset     *int64   `json:"log_end_offset"`
	Lag              *int64   `json:"lag"`
	TimeLag          *float64 `json:"time_lag"`                // seconds; null: not known, or not asked for
	TimeLagKind      string   `json:"time_lag_kind,omitempty"` // what TimeLag is: see the constants
	TimeLagWhy       string   `json:"time_lag_why,omitempty"`  // why it is not known
	ClientID         *Text    `json:"client_id"`               // of the member that alone has the partition assigned
	Host             *Text    `json:"host"`
	ExpiresAt        Time     `json:"expires_at"`
	NotBefore        Time     `json:"not_before"`
	NotAfter         Time     `json:"not_after"`
	Known            string   `json:"known"`          // exact, stale, interval, none, unknown
	KnownUntil       Time     `json:"known_until"`    // stale: up to when it is true
	DeletedAt        Time     `json:"deleted_at"`     // there is none since then
	Never            bool     `json:"never"`          // there never was one
	Before           *int64   `json:"before"`         // the offset that went away
	Why              string   `json:"why,omitempty"`  // unknown: before history, gap, unreadable, only pending
	Note             string   `json:"note,omitempty"` // oddities: topic gone, ahead of the end, records gone unread
	Pending          *Pending `json:"pending"`
}

// Pending is an offset that waits for its transaction to be decided.
type Pending struct {
	Offset int64 `json:"offset"`
	Since  Time  `json:"since"`
}
