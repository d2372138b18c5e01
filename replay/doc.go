// Package replay answers for the past: it folds the recorded events up to a [Point] and
// hands back what was true there, and it tells the history in between. [Snapshots] keep states,
// so that not all of it has to be folded again; they are a cache and decide nothing.
//
// A Point that is a sequence is plain: the state after that record. A Point that is a time
// is the fold, in log order, of exactly the rows whose effective time is not later; since
// rows can be recorded long after their time, reading goes on past it until capture's own
// cursors prove that no such row can follow.
//
// What went on between two points is told by [DiffBetween], and event by event by [History]; how far
// a group was behind by [LagOver], in records. In time, [Backlog] says since when the next record
// waits, and a [Pace] how long the group needs for all that is there.
//
// A [Plan] says beforehand, group by group and partition by partition, what it would take to
// bring committed offsets back, or elsewhere. It is computed from the past and from [Facts] of
// the present that are handed in. [Apply] carries one out, through the [Broker] and the [Log]
// that it is given, and is the one thing here that changes what others see.
//
// All else reads and computes, and refuses to act: replaying notifies nobody and writes nothing
// but snapshots. The package knows neither the stream behind its [Reader], nor a Kafka client,
// nor the offset manager.
package replay
