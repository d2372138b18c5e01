package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// running is what is to be known of Run.
type running struct {
	active  atomic.Bool
	closing chan struct{} // closed by Close
	close   sync.Once
	mu      sync.Mutex
	done    chan struct{} // of the Run under way, closed when it has returned; nil if none was
	// since is when, with nobody running, something came to be pending; milliseconds, 0 for nothing.
	since atomic.Int64
}

func newRunning() running { return running{closing: make(chan struct{})} }

func (r *running) now() bool { return r.active.Load() }

// committed notes that nothing waits for Run any more.
func (r *running) committed() { r.since.Store(0) }

// tick is how often Run reads the clock, and looks whether something is due.
const tick = 10 * time.Millisecond

// retryWait is how long Run waits after a failed commit that was due by number.
const retryWait = time.Second

// Run commits as the strategy says and records updates, until ctx ends, which it returns, or
// [Manager.Close] is called, after which it returns nil, as it does if that was before. It also
// returns when the manager is fenced, with [ledger.ErrConflict]. A commit that fails is logged,
// counted and tried again. It does not commit on its way out: Close does. There is one Run at a
// time.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.fenced(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if !m.running.active.CompareAndSwap(false, true) {
		return fmt.Errorf("run: %w: it runs already", ErrInvalid)
	}
	done := make(chan struct{})
	m.running.mu.Lock()
	m.running.done = done
	m.running.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var clock sync.WaitGroup
	m.clock.coarse.Store(m.cfg.Clock().UnixMilli())
	clock.Go(func() { m.runClock(ctx) })
	defer func() {
		cancel()
		clock.Wait()
		m.clock.coarse.Store(0)
		m.running.active.Store(false)
		close(done)
	}()
	return m.run(ctx)
}

// runClock keeps the time that updates have.
func (m *Manager) runClock(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			m.clock.coarse.Store(m.cfg.Clock().UnixMilli())
		}
	}
}

func (m *Manager) run(ctx context.Context) error {
	s := m.cfg.Strategy
	commit, flush := time.NewTicker(m.cfg.interval()), time.NewTicker(m.cfg.FlushEvery)
	defer commit.Stop()
	defer flush.Stop()
	var retry <-chan time.Time
	for {
		due := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.running.closing:
			return nil
		case <-commit.C:
			due = s.runs()
		case <-retry:
			due, retry = true, nil
		case <-flush.C:
			m.logFailure(ctx, "record updates", m.recordAll(ctx))
		case <-m.nudge:
			due = s.kind == strategyEveryN && m.counted.Load() >= int64(s.n) && retry == nil
			if !due {
				m.logFailure(ctx, "record updates", m.recordEnough(ctx))
			}
		}
		if due && !m.commitDue(ctx) && s.kind == strategyEveryN {
			retry = time.After(retryWait)
		}
		if err := m.fenced(); err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
}

// commitDue commits for the strategy and reports whether that went well.
func (m *Manager) commitDue(ctx context.Context) bool {
	_, err := m.Commit(ctx)
	m.logFailure(ctx, "commit", err)
	return err == nil
}

// logFailure logs what went wrong, unless the manager is about to end.
func (m *Manager) logFailure(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return
	}
	m.cfg.Logger.Warn("offset manager failed", "to", what, "cluster", m.cfg.Cluster, "group", m.cfg.Group, "error", err)
}

// recordAll records all that is buffered.
func (m *Manager) recordAll(ctx context.Context) error {
	return m.recordWith(ctx, m.flushAll)
}

// recordEnough records one event if what is buffered is worth one. If there is more it comes
// again: others have their turn in between.
func (m *Manager) recordEnough(ctx context.Context) error {
	if m.budget.used.Load() < m.budget.enough {
		return nil
	}
	err := m.recordWith(ctx, func(ctx context.Context) error {
		_, err := m.flush(ctx)
		return err
	})
	if err == nil && m.budget.used.Load() >= m.budget.enough {
		m.wake()
	}
	return err
}

func (m *Manager) recordWith(ctx context.Context, flush func(context.Context) error) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	if m.cfg.WhenLogAway == CommitAndMarkGap { // commits to Kafka must not wait behind it
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.cfg.LogWait)
		defer cancel()
	}
	if err := flush(ctx); err != nil {
		return fmt.Errorf("record updates: %w", err)
	}
	return nil
}

// notRunning is called by updates while nobody runs Run.
func (m *Manager) notRunning(now int64) error {
	if !m.cfg.Strategy.runs() || m.running.now() {
		return nil
	}
	since := m.running.since.Load()
	if since == 0 {
		m.running.since.CompareAndSwap(0, now)
		return nil
	}
	waited := time.Duration(now-since) * time.Millisecond
	if waited <= 2*m.cfg.interval() {
		return nil
	}
	return fmt.Errorf("%w: the strategy is %s, and for %s nothing was committed: call Run", ErrNotRunning, m.cfg.Strategy, waited)
}

// Close ends Run, commits what is pending if the strategy is Periodic or EveryN, records what is
// buffered, and makes every later call fail with [ErrClosed]. If it fails, because ctx ended or
// the ledger is away, it can be called again; what is not recorded by the last call is lost to
// the history, and what is not committed stays uncommitted. After it has succeeded it does nothing.
func (m *Manager) Close(ctx context.Context) error {
	m.running.close.Do(func() { close(m.running.closing) })
	m.running.mu.Lock()
	done := m.running.done
	m.running.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("close: Run has not ended: %w", ctx.Err())
		}
	}
	m.stopped.CompareAndSwap(nil, &stop{ErrClosed})
	if err := m.fenced(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	select {
	case m.turn <- struct{}{}:
		defer m.end()
	case <-ctx.Done():
		return fmt.Errorf("close: %w", ctx.Err())
	}
	var committed error
	if m.cfg.Strategy.runs() && m.somethingPending(everything{}) {
		_, committed = m.commit(ctx, everything{})
	}
	if err := errors.Join(committed, m.flushAll(ctx)); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
