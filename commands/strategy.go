package commands

import (
	"errors"
	"fmt"
	"time"
)

// Strategy says when a manager commits by itself. The zero Strategy is
// [Periodic] with [DefaultInterval].
type Strategy struct {
	kind  strategyKind
	every time.Duration
	n     int
}

type strategyKind uint8

const (
	strategyPeriodic strategyKind = iota
	strategyEveryN
	strategyOnWatermark
	strategyManual
)

// DefaultInterval is that of the strategy that is used when none is given.
const DefaultInterval = 5 * time.Second

// minInterval is the shortest interval that is not a mistake.
const minInterval = time.Millisecond

// Periodic commits at that interval, at least a millisecond, whatever has been updated since
// the last commit; also when updates have stopped since. Nothing updated, nothing committed.
func Periodic(every time.Duration) Strategy {
	return Strategy{kind: strategyPeriodic, every: every, n: 1}
}

// EveryN commits after n updates, at least 1, and what is fewer after [Config.MaxWait].
func EveryN(n int) Strategy { return Strategy{kind: strategyEveryN, n: n} }

// OnWatermark commits when [Manager.NotifyWatermark] tells of a later watermark, and only what
// lies before it.
func OnWatermark() Strategy { return Strategy{kind: strategyOnWatermark} }

// Manual never commits by itself, on close neither.
func Manual() Strategy { return Strategy{kind: strategyManual} }

// String is the strategy as it was asked for, such as "every 5s" or "manual".
func (s Strategy) String() string {
	switch s.kind {
	case strategyEveryN:
		return fmt.Sprintf("every %d updates", s.n)
	case strategyOnWatermark:
		return "on watermark"
	case strategyManual:
		return "manual"
	}
	return fmt.Sprintf("every %s", s.every)
}

func (s Strategy) withDefaults() Strategy {
	if s == (Strategy{}) {
		return Periodic(DefaultInterval)
	}
	return s
}

func (s Strategy) validate() error {
	switch {
	case s.kind == strategyPeriodic && s.every < minInterval:
		return fmt.Errorf("Strategy: interval %s of Periodic is below %s", s.every, minInterval)
	case s.kind == strategyEveryN && s.n < 1:
		return fmt.Errorf("Strategy: %d updates of EveryN is below 1", s.n)
	}
	return nil
}

// runs reports whether the strategy needs a running [Manager.Run].
func (s Strategy) runs() bool { return s.kind == strategyPeriodic || s.kind == strategyEveryN }

var errStrategy = errors.New("the manager's strategy is not OnWatermark")
