// Package crashtest proves that the built daemon loses nothing when it is killed: while commits
// flow it dies at random moments and is started again, and in the end its ledger is compared,
// record for record, with what was written to the broker.
//
// It holds tests only. What a daemon captured is judged by a model of the broker that is as
// simple as can be, never by another part of this repository.
package crashtest
