package api

// History answers GET /api/v1/history: what happened, oldest first.
type History struct {
	Envelope
	Rows []ChangeRow `json:"rows"`
	// Events and TotalEvents count the events that Rows come from and all that match. Rows of
	// one event are never on two pages.
	Events      int     `json:"events"`
	TotalEvents int     `json:"total_events"`
	Commits     int     `json:"commits"` // in the time asked for, whatever else was asked for
	Next        *string `json:"next"`    // the page before this one, null at the beginning
	// SameTopics are, of one group for which nothing was found, the other groups that commit to
	// a topic of it: who else could have read what seems to have been read twice.
	SameTopics []Text `json:"same_topics,omitempty"`
}

// ChangeRow is what one row of one event did to one partition of one group. An event that
// moved nothing but belongs to the story (members came or left, a gap, a refused commit) is
// one row without a partition, with its Note.
type ChangeRow struct {
	Seq        uint64  `json:"seq"`
	Row        int     `json:"row"`
	Kind       string  `json:"kind"` // of the event
	Time       Time    `json:"time"`
	CommitTime Time    `json:"commit_time"`
	NotBefore  Time    `json:"not_before"`
	NotAfter   Time    `json:"not_after"`
	Group      Text    `json:"group"`
	Topic      *Text   `json:"topic"`
	TopicID    *string `json:"topic_id"`
	Partition  *int32  `json:"partition"`
	From       *int64  `json:"from"` // null: there was none
	To         *int64  `json:"to"`   // null: there is none
	Movement   string  `json:"movement"`
	Metadata   Text    `json:"metadata"`
	Source     string  `json:"source"` // that told it first
	// Sources are both that told of one commit, in the order in which they did.
	Sources       []string `json:"sources,omitempty"`
	Who           Who      `json:"who"`
	Actor         *Text    `json:"actor"`
	ActorVerified bool     `json:"actor_verified"`
	Reason        *Text    `json:"reason"`
	Plan          *string  `json:"plan"`
	ApprovedBy    *Text    `json:"approved_by"` // who else agreed to the plan
	Cause         *string  `json:"cause"`       // of deletions, refusals and gaps
	CauseInferred bool     `json:"cause_inferred"`
	Evidence      string   `json:"evidence,omitempty"` // of a jump: what makes it one
	Note          string   `json:"note,omitempty"`
}

// Who is who caused a row, as far as the records tell.
type Who struct {
	Kind     string   `json:"kind"` // member, members-present, no-member, manager, operator, broker, unknown
	ClientID Text     `json:"client_id"`
	MemberID Text     `json:"member_id"`
	Host     Text     `json:"host"`
	Inferred bool     `json:"inferred"`
	Bare     bool     `json:"bare"` // no member was there, leader epoch -1 and no metadata: as admin tools write
	Evidence []string `json:"evidence"`
}

// Incidents answers GET /api/v1/incidents, newest first, and GET /api/v1/incidents/show.
type Incidents struct {
	Envelope
	Rows  []IncidentRow `json:"rows"`
	Total int           `json:"total"`
	Next  *string       `json:"next"`
}

// IncidentRow is one act that somebody has to look at: all partitions that it moved.
type IncidentRow struct {
	ID         string `json:"id"` // i and the sequence of its first event
	Time       Time   `json:"time"`
	Until      Time   `json:"until"`
	Group      Text   `json:"group"`
	Kind       string `json:"kind"`
	Partitions int    `json:"partitions"`
	Replayed   *int64 `json:"replayed"` // records to be read again; null if unknown, as after a deletion
	Skipped    *int64 `json:"skipped"`  // records that will not be read; null if unknown
	Who        Who    `json:"who"`
	Reason     *Text  `json:"reason"` // recorded with the act, else the newest of Annotations
	Actor      *Text  `json:"actor"`  // of the act
	// Annotations are the reasons that were given afterwards, the oldest first.
	Annotations []AnnotationRow `json:"annotations,omitempty"`
	// Cause is why offsets went away; CauseInferred that it was concluded, not recorded.
	Cause         *string `json:"cause"`
	CauseInferred bool    `json:"cause_inferred"`
	Story         string  `json:"story"`
	// Restore is the restore that the act was part of, PutBack the one that put it back since.
	Restore *string     `json:"restore,omitempty"`
	PutBack *PutBackRow `json:"put_back,omitempty"`
	// Changes and Where are only in the answer to incidents/show. Where names the record of
	// __consumer_offsets that the broker that coordinated the group wrote.
	Changes []ChangeRow `json:"changes,omitempty"`
	Where   *Where      `json:"where,omitempty"`
}

// PutBackRow is a restore that put an incident back: its plan was made for that, or took the whole group to
// a moment before, or undid what the incident came of. It was not undone itself.
type PutBackRow struct {
	Restore string `json:"restore"`
	Plan    string `json:"plan"`
	Time    Time   `json:"time"`  // when it began
	Whole   bool   `json:"whole"` // every partition of the plan is as it was to be
	Actor   *Text  `json:"actor"`
	Reason  *Text  `json:"reason"`
}

// Where is where to look next for what Kafka does not store: the request log of the broker
// that led this partition at that moment.
type Where struct {
	SourcePartition int32  `json:"source_partition"`
	LeaderEpoch     *int32 `json:"leader_epoch"`
	SourceOffset    int64  `json:"source_offset"`
	Time            Time   `json:"time"`
}
