// Package embedded runs a NATS server with JetStream inside the process, as the ledger's store
// on one machine.
//
// Its defaults are those of a ledger and not those of NATS: an acknowledged message has been
// synced to disk, no network port is open, nothing but the size of the disk limits the store,
// and the data directory belongs to one process at a time. [Start] returns when everything
// stored has been recovered, however long that takes; [Server.Close] returns when nothing
// writes to the directory any more.
//
// It refuses a directory that another process holds ([ErrLocked]), one that holds something
// else, and one whose layout it does not know ([ErrLayout]). It knows nothing of events or
// streams: package stream works the same over any NATS connection.
package embedded
