// Package api answers questions about a ledger over HTTP, as JSON: where every group is or
// was, what moved it, and what went wrong. [NewHandler] serves the routes, [Client] asks
// them, and the types between the two are the rows that users see.
//
// There is one way to a question: the command line asks through the same client whether a
// daemon holds the ledger or it has opened the ledger itself ([Local] then stands for the
// network). So both print the same, and what a person sees a program can have as JSON.
//
// Rules that hold for every route:
//
//   - An answer names its cluster, the moment and sequence it speaks of, and its coverage: from
//     when to when the history is complete. An empty answer can so be told from ignorance.
//   - Unknown is null, never -1 or 0. Numbers are numbers. A time outside the calendar, which
//     Kafka stores as readily as any other, is a bare number of milliseconds.
//   - Names and texts of any bytes are spelled by the rule of [Text].
//   - An error is a problem of RFC 9457 with a code that does not change; there are no
//     redirects and no HTML, also not for paths and methods that do not exist.
//   - An unknown query parameter is refused: a misspelled filter must not answer with more
//     than was asked for. "group=" is the empty group id, which Kafka allows; no group
//     parameter is no group.
//
// Questions write nothing, to Kafka or to the ledger. What changes something is asked for with
// POST, and comes to the package through functions of its [Config]: it reaches no Kafka itself.
package api
