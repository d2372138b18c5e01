package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// offsetsTopic is where Kafka keeps the committed offsets of all groups.
const offsetsTopic = "__consumer_offsets"

// Appender is the log that capture writes to.
type Appender interface {
	// Append stores the events together and in order, or none of them. It fails with
	// [ledger.ErrConflict] if an expectation does not hold. After an error of another kind the
	// same events may be appended again. It keeps nothing of events once it has returned.
	Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error)
}

// Resume is where the ledger says that capture stands. The zero Resume is the first start.
type Resume struct {
	// Cursor is the fold of all cursors of the cluster and shard: every line ever told, each
	// as it was told last.
	Cursor ledger.Cursor
	Seq    uint64 // sequence of the last cursor; 0 is none
	// Told are, by source partition, the keys that the ledger has a gap of behind the hole
	// that the cursor tells. One that is left out gets a second, wider gap.
	Told map[int32][]OffsetKey
}

// TailConfig is what a [Tail] needs to know. Options, Cluster and Log have no default.
type TailConfig struct {
	// Options say how to reach the Kafka cluster: seeds, TLS, SASL, client id.
	Options []kgo.Opt
	// Endpoint is where and how the options reach it. With it [Status] explains why Kafka
	// cannot be read, as [ExplainError] does; without brokers it tells the error as it came.
	Endpoint Endpoint
	Cluster  string // name of the cluster in the ledger
	Log      Appender
	Resume   Resume
	// Facts is the folded history; nil if there is none. Without it causes of deletions are
	// rarely known.
	Facts GroupFacts
	// Topics and Committed are what the fold knows of topics, and of the partitions that
	// groups have offsets in: of those watermarks are observed. What capture meets itself is
	// added, and what no group has an offset in any more is left as Facts tell.
	Topics    map[string]ledger.TopicInfo
	Committed []ledger.TopicPartition
	// Retention is offsets.retention.minutes of the brokers; 0 asks them.
	Retention time.Duration
	// Interval is the time between two observations of watermarks; 0 is 10 s.
	Interval time.Duration
	// Linger is how long events wait for company before they are stored; 0 is 10 ms.
	Linger time.Duration
	Logger *slog.Logger     // nil logs nothing
	Clock  func() time.Time // nil is time.Now
}

func (c *TailConfig) validate() error {
	var faults []error
	if len(c.Options) == 0 {
		faults = append(faults, errors.New("no options say how to reach Kafka"))
	}
	if c.Cluster == "" {
		faults = append(faults, errors.New("the cluster has no name"))
	}
	if c.Log == nil {
		faults = append(faults, errors.New("there is no log to append to"))
	}
	for _, d := range []struct {
		what string
		time.Duration
	}{{"retention", c.Retention}, {"interval", c.Interval}, {"linger", c.Linger}} {
		if d.Duration < 0 {
			faults = append(faults, fmt.Errorf("the %s is negative: %s", d.what, d.Duration))
		}
	}
	return errors.Join(faults...)
}

func (c *TailConfig) setDefaults() {
	if c.Interval == 0 {
		c.Interval = 10 * time.Second
	}
	if c.Linger == 0 {
		c.Linger = 10 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

// ErrUncertain says that capture cannot tell whether what it appended last is stored. The one
// that ran it has to read the last cursor of the ledger and run a new [Tail] from there.
var ErrUncertain = errors.New("the outcome of the last append is not known")

// ErrOtherCluster says that the brokers belong to another Kafka cluster than the one whose
// history the ledger holds under the same name. The detail is [*OtherClusterError].
var ErrOtherCluster = errors.New("another kafka cluster")

// OtherClusterError names both clusters.
type OtherClusterError struct {
	Cluster  string // name in the ledger
	Recorded string // Kafka's id of the cluster in the ledger
	Found    string // Kafka's id of the one that answers
}

func (e *OtherClusterError) Error() string {
	return fmt.Sprintf("cluster %s in the ledger is Kafka cluster %s, but the brokers belong to %s: "+
		"give another name to this cluster, or the addresses of the recorded one", e.Cluster, e.Recorded, e.Found)
}

// Is makes the error match [ErrOtherCluster].
func (e *OtherClusterError) Is(target error) bool { return target == ErrOtherCluster }
