// Package commands is the write side for Go consumers: an offset [Manager] that keeps what it
// promises. Progress is reported with [Manager.UpdateOffset], every single report is recorded,
// and a commit is one event in the ledger, stored whole or not at all.
//
// A [Strategy] says when it commits by itself. A manager that commits to the ledger alone owns
// its group: the next one that is made for the group takes it over, and the former one gets
// [ledger.ErrConflict] and stops. With commits to Kafka ([Config.KafkaCommits], package
// commands/kafka) the broker's generation decides who may commit, and all members of a group
// write side by side.
//
// A [Tracker] tells how far the records of one partition are done without a gap, for those who
// work on several at a time; the manager has one for each partition that
// [Manager.Delivered] is called for.
//
// The package refuses to know how events are stored and how Kafka is spoken to: it declares
// [Log] and [Broker], which *stream.Log and package commands/kafka satisfy. It leaves no goroutine
// behind: [Manager.Run] is the caller's, and waits for the one that it starts.
package commands
