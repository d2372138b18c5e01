package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
)

// How a consumer asks for messages: it has at most window messages coming, asks for more when
// half of them are there, and for no more than windowBytes at a time, so that this is about
// what a reader that is slow keeps in memory.
const (
	window      = 8192
	windowBytes = 8 << 20
)

// The server says that it is alive once in heartbeat, and is given up for gone after
// silence. A consumer that nobody asks for so long is removed by the server.
const (
	heartbeat   = 2 * time.Second
	silence     = 3 * heartbeat
	pullExpires = 60 * time.Second
	unusedFor   = 5 * time.Minute
)

var (
	// errRenew: this consumer is of no use any more.
	errRenew = errors.New("consumer is gone")
	// errIdle: nothing has come for a while.
	errIdle = errors.New("idle")
)

// consumer is one ephemeral pull consumer on the server with what it has delivered. It makes
// sure of nothing but that deliveries have no hole.
type consumer struct {
	log    *Log
	name   string
	sub    *nats.Subscription
	inbox  chan *nats.Msg
	status chan nats.Status
	coming int         // messages that were asked for and have not come
	seq    uint64      // the consumer's own count of deliveries
	quiet  *time.Timer // fires when the server has been silent
	pull   pullRequest // the request, but for its size
}

type pullRequest struct {
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes"`
	Expires   time.Duration `json:"expires"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
}

// delivery is one message, or a sign of life if data is nil.
type delivery struct {
	seq    uint64
	stored time.Time
	data   []byte
}

func (l *Log) newConsumer(ctx context.Context, from uint64, f ledger.Filter) (*consumer, error) {
	asking, cancel := outlasting(ctx)
	defer cancel()
	name := "read-" + uuid.NewString()
	_, err := l.js.CreateConsumer(asking, l.cfg.Name, jetstream.ConsumerConfig{
		Name:              name,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       from,
		AckPolicy:         jetstream.AckNonePolicy,
		ReplayPolicy:      jetstream.ReplayInstantPolicy,
		FilterSubjects:    f.Subjects,
		InactiveThreshold: unusedFor,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		l.dropConsumer(name) // perhaps only the answer got lost
		return nil, known(err)
	}
	c := &consumer{
		log: l, name: name,
		inbox:  make(chan *nats.Msg, 2*window), // beside the messages there is room for signs of life
		status: l.nc.StatusChanged(nats.RECONNECTING, nats.CONNECTED, nats.CLOSED),
		quiet:  time.NewTimer(silence),
		pull:   pullRequest{MaxBytes: windowBytes, Expires: pullExpires, Heartbeat: heartbeat},
	}
	if c.sub, err = l.nc.ChanSubscribe(l.nc.NewInbox(), c.inbox); err != nil {
		c.close()
		return nil, err
	}
	if err := c.ask(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// leavingTime is how long the answer to a request for a consumer is waited for after whoever
// asked has gone: only then can be removed what would otherwise stay for unusedFor.
const leavingTime = time.Second

// outlasting is a context for a request that ends leavingTime after ctx.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(leavingTime, cancel) })
	return longer, func() {
		forget()
		cancel()
	}
}

// close ends the subscription and removes the consumer from the server, without waiting for
// it to say so: what is left behind goes by itself.
func (c *consumer) close() {
	c.quiet.Stop()
	c.log.nc.RemoveStatusListener(c.status)
	if c.sub != nil {
		c.sub.Unsubscribe() //nolint:errcheck // the connection may be gone
	}
	c.log.dropConsumer(c.name)
}

// dropConsumer asks the server to remove a consumer, and does not wait for that.
func (l *Log) dropConsumer(name string) {
	l.nc.Publish("$JS.API.CONSUMER.DELETE."+l.cfg.Name+"."+name, nil) //nolint:errcheck // the connection may be gone
}

// ask keeps the window full.
func (c *consumer) ask() error {
	if c.coming > window/2 {
		return nil
	}
	c.pull.Batch = window - c.coming
	body, err := json.Marshal(c.pull)
	if err != nil {
		return err
	}
	c.coming = window
	return c.log.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+c.log.cfg.Name+"."+c.name, c.sub.Subject, body)
}

// next returns the next delivery. It fails with errIdle when only signs of life have come for
// a heartbeat, and with errRenew when deliveries have a hole or stopped.
func (c *consumer) next(ctx context.Context) (delivery, error) {
	select {
	case m := <-c.inbox:
		return c.take(m)
	default:
	}
	c.quiet.Reset(silence)
	select {
	case m := <-c.inbox:
		return c.take(m)
	case <-c.quiet.C:
		return delivery{}, fmt.Errorf("%w: silent for %s", errRenew, silence)
	case s := <-c.status:
		if s == nats.CLOSED {
			return delivery{}, nats.ErrConnectionClosed
		}
		return delivery{}, fmt.Errorf("%w: the connection was lost", errRenew)
	case <-ctx.Done():
		return delivery{}, ctx.Err()
	}
}

func (c *consumer) take(m *nats.Msg) (delivery, error) {
	if len(m.Data) == 0 {
		return delivery{}, c.signal(m)
	}
	d, seq, err := parseDelivery(m)
	if err != nil {
		return delivery{}, err
	}
	if c.seq++; seq != c.seq {
		return delivery{}, fmt.Errorf("%w: delivery %d came after %d", errRenew, seq, c.seq-1)
	}
	c.coming--
	return d, c.ask()
}

// signal handles a message that is none: a heartbeat, or the end of a request.
func (c *consumer) signal(m *nats.Msg) error {
	if m.Header.Get("Status") == "100" {
		return errIdle
	}
	// A request that ended says what was left of it. Without that, the consumer itself ended.
	left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		return fmt.Errorf("%w: status %s", errRenew, m.Header.Get("Status"))
	}
	c.coming -= left
	return c.ask()
}

// parseDelivery reads what the server says of a message in its reply subject, and returns the
// consumer's own count too:
// $JS.ACK.<stream>.<consumer>.<times>.<stream sequence>.<consumer sequence>.<time>.<pending>,
// where domain and account hash can stand before the stream and a token after pending.
func parseDelivery(m *nats.Msg) (d delivery, seq uint64, err error) {
	const before, all = 5, 9
	rest, ok := strings.CutPrefix(m.Reply, "$JS.ACK.")
	tokens := strings.Count(m.Reply, ".") + 1
	skip := before - 2
	if tokens > all {
		skip += 2
	}
	for ; ok && skip > 0; skip-- {
		_, rest, ok = strings.Cut(rest, ".")
	}
	var numbers [3]uint64
	for i := 0; ok && i < len(numbers); i++ {
		var token string
		if token, rest, ok = strings.Cut(rest, "."); ok {
			numbers[i], err = strconv.ParseUint(token, 10, 64)
			ok = err == nil
		}
	}
	if !ok {
		return d, 0, fmt.Errorf("delivery without position: %q", m.Reply)
	}
	return delivery{seq: numbers[0], stored: time.Unix(0, int64(numbers[2])).UTC(), data: m.Data}, numbers[1], nil
}

// isTransport reports whether err is about the way to the server, not from it.
func isTransport(err error) bool {
	for _, t := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, context.DeadlineExceeded, nats.ErrDisconnected,
		nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
