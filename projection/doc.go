// Package projection folds the recorded events into what they add up to: the committed
// offsets of every group, lag, group lives, statistics, incidents, and how sure all of it is.
//
// A [State] is a pure fold in sequence order: the same records give the same state,
// whatever the batches, restarts and repetitions they came in. What folding one row did is
// a [Change]. A [View] keeps a State live for many readers; [Incidents] gathers the Changes
// that somebody has to look at.
//
// The package refuses to know where records come from: it holds no NATS, Kafka or HTTP,
// starts no goroutine and reads no clock. Where a rule needs the present moment, the moment
// is handed in.
package projection
