// Package ledger holds the facts that offsetledger records: what an event is, how it
// is encoded, which subject it is stored under, and the errors that every package shares.
//
// An [Event] is one immutable fact about one consumer group, one topic or one cluster. It
// carries as many partition rows ([Offset]) as belong together: a commit of a hundred
// partitions is one event, stored whole or not at all. A [Record] is an event as stored,
// with its stream sequence and append time.
//
// The package is pure. It holds no NATS, Kafka, HTTP, goroutine or clock, and it refuses
// to know how events get here or what they add up to: package stream stores them, package
// projection folds them.
//
// The byte format is specified in docs/event.proto and docs/format.md; golden files in
// testdata pin every version ever written.
package ledger
