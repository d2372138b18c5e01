// Package kafka is where offsetledger touches Kafka: it decodes the records of
// __consumer_offsets, tails that topic, observes watermarks and topics, asks the admin API
// what the tail cannot know, and says what a principal may do. It also binds a consumer to an
// offset manager: see [Opts].
//
// Everything it learns leaves it as [ledger.Event] values through the Appender that its user
// hands in. It holds no NATS, and it refuses to conclude: an error or a short answer is never
// a deletion, a record that cannot be decoded is kept as it was read, and what an offset means
// (rewind, jump, lag) is for package projection to say.
package kafka
