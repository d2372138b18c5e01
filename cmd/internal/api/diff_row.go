package api

// Diff answers GET /api/v1/diff: what moved between two moments.
type Diff struct {
	Envelope
	FromSeq uint64    `json:"from_seq"` // last sequence of what was so at the earlier moment; 0: none
	Rows    []DiffRow `json:"rows"`     // of the groups that moved
	// Groups counts those that the answer is about, Moved those that did more than commit again
	// what they had. Advanced are those of them that did nothing but read.
	Groups   int `json:"groups"`
	Moved    int `json:"moved"`
	Advanced int `json:"advanced"`
}

// DiffRow is what became of one group.
type DiffRow struct {
	Group      Text   `json:"group"`
	Partitions int    `json:"partitions"` // that have an offset at one of the two moments, or had one in between
	Advanced   int64  `json:"advanced"`   // offsets read
	Replayed   int64  `json:"replayed"`   // offsets moved back over
	Skipped    int64  `json:"skipped"`    // offsets moved forward over without reading
	Uncounted  int    `json:"uncounted"`  // moves between offsets that cannot be compared
	Appeared   *int   `json:"appeared"`   // partitions with an offset only at the later moment; null: the earlier is before history
	Gone       int    `json:"gone"`       // partitions without an offset at the later moment that had one before
	LagFrom    *int64 `json:"lag_from"`   // of the partitions whose lag is known; null if none is
	LagTo      *int64 `json:"lag_to"`
	LagDelta   *int64 `json:"lag_delta"` // null unless the lag of all is known at both moments
	Events     int    `json:"events"`    // that moved offsets or committed them again
	// UnknownFrom and UnknownTo count the partitions whose lag is not known.
	UnknownFrom int      `json:"unknown_from"`
	UnknownTo   int      `json:"unknown_to"`
	Movements   []string `json:"movements"`
	Incidents   []string `json:"incidents"` // ids, oldest first
	Note        string   `json:"note,omitempty"`
	// PartitionRows are there if they were asked for.
	PartitionRows []DiffPartition `json:"partition_rows,omitempty"`
}

// DiffPartition is what became of one partition of a group.
type DiffPartition struct {
	Topic     Text     `json:"topic"`
	Partition int32    `json:"partition"`
	From      *int64   `json:"from"` // null: there was none
	To        *int64   `json:"to"`   // null: there is none
	Advanced  int64    `json:"advanced"`
	Replayed  int64    `json:"replayed"`
	Skipped   int64    `json:"skipped"`
	Uncounted int      `json:"uncounted"`
	LagFrom   *int64   `json:"lag_from"`
	LagTo     *int64   `json:"lag_to"`
	LagDelta  *int64   `json:"lag_delta"`
	Movements []string `json:"movements"`
}
