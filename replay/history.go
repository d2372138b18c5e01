package replay

import (
	"fmt"
	"iter"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Entry is one event of the history and what folding it did. It is valid until the next one.
type Entry struct {
	// Record is the event as stored; one that was cut in parts is whole, at the sequence of the
	// last of them.
	Record  *ledger.Record
	Changes []projection.Change
	// Before is, of an event about the members of a group, that group before it.
	Before projection.Group
	State  *projection.State // after the event
}

// History tells what happened in a scope, record by record. What an event did depends on all
// that came before it: so its records have to begin with the first of the log, also if only a
// later part of the history is of interest; or behind a snapshot, see [Snapshots.HistoryFrom].
type History struct {
	scope Scope
	state *projection.State
}

// NewHistory returns the history of a scope before its first record.
func NewHistory(sc Scope) *History {
	return &History{scope: sc, state: projection.NewState()}
}

// Filter selects the records that the history needs: those of groups, topics and capture, and
// not the watermarks, which are most of the log.
func (h *History) Filter() ledger.Filter { return h.scope.filter(false) }

// Tell folds records and tells what each did. It can be called again with those that follow.
func (h *History) Tell(records iter.Seq2[ledger.Record, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for rec, err := range records {
			var told Entry
			if err == nil {
				told, err = h.fold(rec)
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("history after record %d: %w", h.state.Seq(), err))
				return
			}
			if told.Record != nil && !yield(told, nil) {
				return
			}
		}
	}
}

// fold returns an Entry without a Record while an event is not whole.
func (h *History) fold(rec ledger.Record) (Entry, error) {
	var told Entry
	if rec.Event.Kind == ledger.KindGroup {
		told.Before, _ = h.state.Group(rec.Event.Cluster, rec.Event.Group)
	}
	if h.scope.ofCluster {
		h.state.Skip(rec.Seq - 1)
	}
	changes, err := h.state.Apply(rec)
	if err != nil {
		return Entry{}, err
	}
	if whole, ok := h.state.Folded(); ok {
		told.Record, told.Changes, told.State = whole, changes, h.state
	}
	return told, nil
}
