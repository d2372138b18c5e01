// Package stream keeps the ledger's events in one JetStream stream, over any NATS connection.
//
// [Create] makes the stream and [Open] never does. [Log.Append] stores events: each caller's
// together and in order or none of them, acknowledged only when the server has them, and under
// expectations if the caller has any. [Log.Read] and [Log.Follow] give them back in order,
// without gap and without repeat.
//
// The package refuses a stream that could lose events ([ErrUnsafe]), and to go on when the
// stream is no longer the one that was opened ([ErrReplaced]). It never updates a stream's
// settings, never purges and never deletes. The time at which a message was stored is shown as
// [ledger.Record.Appended] and is used for nothing: when a fact was true is for the event to say.
package stream
