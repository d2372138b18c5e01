// Package kafka is where offsetledger touches Kafka. A [Tail] captures a cluster: it decodes the
// records of __consumer_offsets, observes watermarks and topics, and asks the admin API what
// records cannot tell. [Access] says what a principal may do. [Opts] bind a consumer to an offset
// manager. An [Admin] says what groups and topics are now, and writes offsets of groups that
// nobody is in.
//
// What capture learns leaves it as [ledger.Event] values through the [Appender] that its user
// hands in. The package holds no NATS, and it refuses to conclude: an error or a short answer is
// never a deletion, a record that cannot be decoded is kept as it was read, and what an offset
// means (rewind, jump, lag) is for package projection to say.
package kafka
