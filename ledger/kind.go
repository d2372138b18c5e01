package ledger

import "strconv"

// Kind says what an event is about. The numbers are those of docs/event.proto and never
// change; a kind that a reader does not know survives decoding and encoding.
type Kind int32

// The kinds of events. Group kinds are stored under the group's subject, topic kinds under
// the topic's, the others under one of the cluster.
const (
	KindUpdated    Kind = 1  // group: progress reported by an offset manager, every single update
	KindCommitted  Kind = 2  // group: offsets that the group committed
	KindReset      Kind = 3  // group: offsets set by an operator or a command
	KindDeleted    Kind = 4  // group: offsets that went away; Cause says why, as far as known
	KindFailed     Kind = 5  // group: a commit that was refused or aborted, with the cause per row
	KindIntent     Kind = 6  // group: a reset, clear or restore that is about to write
	KindClaim      Kind = 7  // group: an offset manager takes the group over
	KindCheckpoint Kind = 8  // group: an application's named mark in the history
	KindGroup      Kind = 9  // group: what a group metadata record said of group and members
	KindTopic      Kind = 10 // topic: id and partition count, re-creation, deletion
	KindWatermarks Kind = 11 // cluster, by shard of topics: log start, end and last stable offset
	KindCursor     Kind = 12 // cluster: how far capture has read
	KindGap        Kind = 13 // group or source partition: history may be missing here, and why
	KindOpaque     Kind = 14 // source partition: a record that could not be decoded, raw
	KindOperator   Kind = 15 // cluster: plan, apply, undo, trim, configuration change
	KindSnapshot   Kind = 16 // cluster: a snapshot was taken
)

var kindNames = [...]string{
	KindUpdated: "updated", KindCommitted: "committed", KindReset: "reset", KindDeleted: "deleted",
	KindFailed: "failed", KindIntent: "intent", KindClaim: "claim", KindCheckpoint: "checkpoint",
	KindGroup: "group", KindTopic: "topic", KindWatermarks: "watermarks", KindCursor: "cursor",
	KindGap: "gap", KindOpaque: "opaque", KindOperator: "operator", KindSnapshot: "snapshot",
}

// String is the kind's name, the last token of its subject; "kind-N" for one that this
// version does not know.
func (k Kind) String() string { return nameOf(kindNames[:], int32(k), "kind-") }

// OfGroup reports whether events of the kind are about one group. Of gaps, some are: see
// [Event.OfGroup].
func (k Kind) OfGroup() bool {
	return k > 0 && int(k) < len(rules) && rules[k].scope == scopeGroup
}

// ParseKind is the inverse of [Kind.String]. It is false for a word that is no kind.
func ParseKind(s string) (Kind, bool) {
	for k, name := range kindNames {
		if name != "" && name == s {
			return Kind(k), true
		}
	}
	return 0, false
}

// Key types of the records in __consumer_offsets that group events come from: what
// [Membership.RecordType] holds.
const (
	RecordClassicGroup int16 = 2 // a classic group with all its members
	RecordGroup        int16 = 3 // epoch of a KIP-848 group
	RecordMember       int16 = 5 // client id and host of one of its members
	RecordAssignment   int16 = 8 // the epoch and partitions of one
)

// SourceKind says how an event got into the ledger.
type SourceKind int32

// The ways in.
const (
	SourceTail      SourceKind = 1 // read from __consumer_offsets
	SourcePoll      SourceKind = 2 // asked of the admin API at intervals
	SourceReconcile SourceKind = 3 // asked of the admin API once, to close a hole
	SourceManager   SourceKind = 4 // told by an offset manager
	SourceOperator  SourceKind = 5 // told by a command of an operator
)

var sourceNames = [...]string{
	SourceTail: "tail", SourcePoll: "poll", SourceReconcile: "reconcile",
	SourceManager: "manager", SourceOperator: "operator",
}

// String is the source's name, or "source-N" for one that this version does not know.
func (s SourceKind) String() string { return nameOf(sourceNames[:], int32(s), "source-") }

// Cause says why an offset went away (deleted events), why a commit did not count (failed
// events) or why history may be missing (gap events). Kafka records no cause of a deletion:
// there the cause is inferred, and said to be by [Event.CauseInferred].
type Cause int32

// The causes.
const (
	CauseUnknown      Cause = 0
	CauseDeleted      Cause = 1  // the offset was deleted by a request
	CauseExpired      Cause = 2  // the broker's retention removed it
	CauseGroupDeleted Cause = 3  // the whole group was deleted
	CauseTopicDeleted Cause = 4  // the topic was deleted
	CauseCleared      Cause = 5  // an offset manager cleared it
	CauseAborted      Cause = 6  // the transaction of the commit was aborted
	CauseRefused      Cause = 7  // the broker refused the row; ErrorCode says how
	CauseTimedOut     Cause = 8  // no answer came, so the outcome is unknown
	CauseFenced       Cause = 9  // the writer no longer owned the group
	CauseTruncated    Cause = 10 // the source partition lost records that had been read
	CauseCompacted    Cause = 11 // compaction removed records that had not been read
	CauseRecreated    Cause = 12 // the source topic was deleted and made again
	CauseLogAway      Cause = 13 // a manager went on while the ledger was not to be had
)

var causeNames = [...]string{
	CauseUnknown: "unknown", CauseDeleted: "deleted", CauseExpired: "expired",
	CauseGroupDeleted: "group-deleted", CauseTopicDeleted: "topic-deleted", CauseCleared: "cleared",
	CauseAborted: "aborted", CauseRefused: "refused", CauseTimedOut: "timed-out", CauseFenced: "fenced",
	CauseTruncated: "truncated", CauseCompacted: "compacted", CauseRecreated: "recreated",
	CauseLogAway: "log-away",
}

// String is the cause's name, or "cause-N" for one that this version does not know.
func (c Cause) String() string { return nameOf(causeNames[:], int32(c), "cause-") }

func nameOf(names []string, n int32, prefix string) string {
	if n >= 0 && int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return prefix + strconv.FormatInt(int64(n), 10)
}
