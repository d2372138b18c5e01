// Package replay answers for the past: it folds the recorded events up to a [Point] and
// hands back what was true there, and it tells the history in between.
//
// A Point that is a sequence is plain: the state after that record. A Point that is a time
// is the fold, in log order, of exactly the rows whose effective time is not later; since
// rows can be recorded long after their time, reading goes on past it until capture's own
// cursors prove that no such row can follow.
//
// The package reads and computes. It refuses to act: replaying notifies nobody and writes
// nothing, and it knows neither the stream behind its [Reader] nor the offset manager.
package replay
