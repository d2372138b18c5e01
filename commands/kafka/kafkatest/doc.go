// Package kafkatest holds the Kafka clusters that tests and the demo run against: an
// in-process one that starts in a millisecond, and a real Apache Kafka started on loopback
// from its published jars.
//
// The in-process one is kfake, which keeps committed offsets in memory and writes no
// __consumer_offsets. A mirror writes them there, in the brokers' own record format, so that
// whatever tails that topic sees what it would see on a real cluster. What the mirror cannot
// show (transactional batches, expiry, every group type) is written by a test itself with
// [Fake.Write] and [Fake.Begin], or shown by [Real].
//
// The package does not import testing, since the demo uses the in-process cluster. It refuses
// to write __consumer_offsets of a real cluster, and it ends only the processes it started.
package kafkatest
