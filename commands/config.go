package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// WhenLogAway says what a manager does while the ledger cannot be written.
type WhenLogAway uint8

const (
	// WhenLogAwayDefault is CommitAndMarkGap with commits to Kafka and Block without.
	WhenLogAwayDefault WhenLogAway = iota
	// CommitAndMarkGap goes on: commits go to Kafka, what is to be recorded is held within
	// [Config.BufferLimit], and what does not fit is given up and becomes a gap event. It needs
	// commits to Kafka.
	CommitAndMarkGap
	// Block holds within the same bounds and then refuses updates with [ErrLogAway]. Only
	// [Manager.Commit] waits.
	Block
)

// Config says which group a manager is for and how it behaves. All but Cluster and Group have a
// default, which is their zero value.
type Config struct {
	Cluster string // of Kafka, as the ledger names it
	Group   string // the consumer group

	// Strategy says when the manager commits by itself; the zero Strategy is Periodic(5s).
	Strategy Strategy
	// MaxWait is how long EveryN waits at most before it commits fewer updates; 0 is 5 s.
	MaxWait time.Duration

	// KafkaCommits says that commits go to Kafka too, by the [Broker] that [Manager.Bind] sets.
	// Then the broker fences and the manager does not claim its group.
	KafkaCommits bool
	WhenLogAway  WhenLogAway

	// FlushEvery is how long an update waits at most before it is recorded while Run runs; 0 is 1 s.
	FlushEvery time.Duration
	// BufferLimit is how many updates are held at most that are not recorded yet; 0 is
	// 1,000,000. One without metadata takes 8 bytes, one with more counts for more.
	BufferLimit int
	// LogWait is how long to wait for a ledger that does not answer, where waiting for ever would
	// not do: for a commit under CommitAndMarkGap, for room for an update, and to find out what
	// became of a commit whose context has ended. 0 is 1 s.
	LogWait time.Duration

	// AllowRewind takes updates that go back behind the committed offset. The default is to
	// refuse them with [ErrBehind]: going back on purpose is what [Manager.ResetOffset] is for.
	AllowRewind bool

	Clock  func() time.Time // nil is time.Now
	Logger *slog.Logger     // takes failures of commits that Run makes; nil is to say nothing
}

const (
	defaultMaxWait     = 5 * time.Second
	defaultFlushEvery  = time.Second
	defaultBufferLimit = 1_000_000
	minBufferLimit     = 1024
	defaultLogWait     = time.Second
)

func (c Config) withDefaults() Config {
	c.Strategy = c.Strategy.withDefaults()
	c.MaxWait = or(c.MaxWait, defaultMaxWait)
	c.FlushEvery = or(c.FlushEvery, defaultFlushEvery)
	c.BufferLimit = or(c.BufferLimit, defaultBufferLimit)
	c.LogWait = or(c.LogWait, defaultLogWait)
	if c.WhenLogAway == WhenLogAwayDefault {
		c.WhenLogAway = Block
		if c.KafkaCommits {
			c.WhenLogAway = CommitAndMarkGap
		}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// interval is how often Run commits at the least, for a strategy that commits by itself.
func (c *Config) interval() time.Duration {
	if c.Strategy.kind == strategyPeriodic {
		return c.Strategy.every
	}
	return c.MaxWait
}

func or[T comparable](v, byDefault T) T {
	var zero T
	if v == zero {
		return byDefault
	}
	return v
}

// validate returns everything that is wrong with c, which has its defaults.
func (c Config) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Cluster == "" {
		fault("Cluster: is empty")
	}
	if c.Group == "" {
		fault("Group: is empty")
	}
	if err := c.Strategy.validate(); err != nil {
		faults = append(faults, err)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"MaxWait", c.MaxWait}, {"FlushEvery", c.FlushEvery}, {"LogWait", c.LogWait}} {
		if d.d < minInterval {
			fault("%s: %s is below %s", d.name, d.d, minInterval)
		}
	}
	if c.BufferLimit < minBufferLimit {
		fault("BufferLimit: %d is below %d", c.BufferLimit, minBufferLimit)
	}
	switch {
	case c.WhenLogAway > Block:
		fault("WhenLogAway: %d is none of CommitAndMarkGap and Block", c.WhenLogAway)
	case c.WhenLogAway == CommitAndMarkGap && !c.KafkaCommits:
		fault("WhenLogAway: CommitAndMarkGap needs KafkaCommits, since the ledger is where a manager without them commits to")
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w configuration: %w", ErrInvalid, errors.Join(faults...))
}
