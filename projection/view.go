package projection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
)

// ErrFollowerSlow is the end of a [View.Changes] whose reader fell too far behind. It loses
// nothing that a replay from the last sequence it saw does not bring back.
var ErrFollowerSlow = errors.New("follower is too slow")

// maxFollowed is how many Changes a follower may be behind.
const maxFollowed = 1 << 16

// View keeps a [State] and its [Incidents] live: one Run folds, any number of goroutines read.
type View struct {
	mu        sync.RWMutex // guards state, incidents and trail; Run writes; locked before wait
	state     *State
	incidents *Incidents
	trail     *Trail // nil: nobody wants one

	wait      sync.Mutex // guards what follows
	seq       uint64
	ended     bool
	err       error
	waiters   []*waiter
	followers []*follower
}

type waiter struct {
	seq  uint64
	done chan struct{}
}

// NewView returns a view of the empty state.
func NewView() *View {
	return &View{state: NewState(), incidents: NewIncidents()}
}

// Resume has a view that has folded nothing yet go on from a state and the incidents up to it.
// Both belong to the view from then on.
func (v *View) Resume(s *State, in *Incidents) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wait.Lock()
	defer v.wait.Unlock()
	v.state, v.incidents, v.seq = s, in, s.Seq()
	if v.trail != nil {
		v.trail.Start(s.Seq())
	}
}

// Leave has the view note in a trail the records that it folds from now on. The trail begins anew
// where the view is.
func (v *View) Leave(t *Trail) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trail = t
	t.Start(v.state.Seq())
}

// Run folds records until they end or one of them is an error, which it returns; ctx ends it
// too, between two records. It returns nil only if the records ended by themselves.
//
// After Run has ended the view still answers, from what it has; [View.Err] says what
// happened. Run may be called again with the records after [View.Seq]; not twice at a time.
func (v *View) Run(ctx context.Context, records iter.Seq2[ledger.Record, error]) error {
	v.setEnd(false, nil)
	err := v.run(ctx, records)
	v.setEnd(true, err)
	return err
}

func (v *View) run(ctx context.Context, records iter.Seq2[ledger.Record, error]) error {
	for rec, err := range records {
		if err != nil {
			return fmt.Errorf("view after record %d: %w", v.Seq(), err)
		}
		if err := v.fold(rec); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// fold folds one record, tells the followers and wakes who waited for it.
func (v *View) fold(rec ledger.Record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wait.Lock()
	followed := len(v.followers) > 0
	v.wait.Unlock()
	v.state.limited, v.state.quiet, v.state.rec = false, !followed, rec // all Changes are for followers only
	changes, err := v.state.apply()
	if err != nil {
		return err
	}
	v.incidents.Apply(v.state, &v.state.rec, changes)
	if v.trail != nil {
		v.trail.Note(&rec)
	}

	v.wait.Lock()
	defer v.wait.Unlock()
	v.seq = v.state.Seq()
	for _, f := range v.followers {
		f.offer(changes)
	}
	v.waiters = slices.DeleteFunc(v.waiters, func(w *waiter) bool {
		if w.seq > v.seq {
			return false
		}
		close(w.done)
		return true
	})
	return nil
}

// setEnd wakes everybody who waits for records that will not come.
func (v *View) setEnd(ended bool, err error) {
	v.wait.Lock()
	defer v.wait.Unlock()
	v.ended, v.err = ended, err
	if !ended {
		return
	}
	for _, w := range v.waiters {
		close(w.done)
	}
	v.waiters = nil
	for _, f := range v.followers {
		f.end(v.endError())
	}
}

// endError is what those get who wait on a view that is not running any more.
func (v *View) endError() error {
	if v.err != nil {
		return v.err
	}
	return fmt.Errorf("view at record %d: no more records come", v.seq)
}

// Err is how the last Run ended: nil while one goes on, before the first, and after one
// whose records ended by themselves.
func (v *View) Err() error {
	v.wait.Lock()
	defer v.wait.Unlock()
	return v.err
}

// Seq is the sequence of the last record folded.
func (v *View) Seq() uint64 {
	v.wait.Lock()
	defer v.wait.Unlock()
	return v.seq
}

// Read calls read with the state, which stands still meanwhile: read must be quick, must not
// change the state, and must not keep it. What the state's methods return may be kept.
func (v *View) Read(read func(*State)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	read(v.state)
}

// ReadIncidents is [View.Read] with the incidents of the same moment.
func (v *View) ReadIncidents(read func(*State, *Incidents)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	read(v.state, v.incidents)
}

// WaitFor blocks until the record with sequence seq is folded, so that whoever appended it
// reads its own write. It fails when ctx ends first, and when the records end before it.
func (v *View) WaitFor(ctx context.Context, seq uint64) error {
	v.wait.Lock()
	if v.seq >= seq {
		v.wait.Unlock()
		return nil
	}
	if v.ended {
		defer v.wait.Unlock()
		return fmt.Errorf("wait for record %d: %w", seq, v.endError())
	}
	w := &waiter{seq: seq, done: make(chan struct{})}
	v.waiters = append(v.waiters, w)
	v.wait.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	v.wait.Lock()
	defer v.wait.Unlock()
	if v.seq >= seq {
		return nil
	}
	if err := ctx.Err(); err != nil {
		v.waiters = slices.DeleteFunc(v.waiters, func(o *waiter) bool { return o == w })
		return fmt.Errorf("wait for record %d, at %d: %w", seq, v.seq, err)
	}
	return fmt.Errorf("wait for record %d: %w", seq, v.endError())
}
