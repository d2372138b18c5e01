package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
)

// pickWindow is how many requests of a Pick are under way at a time.
const pickWindow = 64

// Pick returns the events of single sequences, in the order given. It asks for many at a time, and
// makes nothing on the server: for a few events that lie far apart it is ten times as fast as a
// [Log.Read] that passes over the others.
//
// It ends with [ledger.ErrMissing] where there is no event, and with [ledger.ErrDamaged] where
// there is one that cannot be decoded. A record is valid until the next step of the iteration.
func (l *Log) Pick(ctx context.Context, seqs []uint64) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		if len(seqs) == 0 {
			return
		}
		p, err := l.startPick(seqs)
		if err == nil {
			defer p.sub.Unsubscribe() //nolint:errcheck // the connection may be gone
			err = p.run(ctx, yield)
		}
		if err != nil {
			yield(ledger.Record{}, fmt.Errorf("pick from %s: %w", l.cfg.Name, err))
		}
	}
}

// picking is one iteration. Each request has an answer that ends in its slot.
type picking struct {
	log     *Log
	seqs    []uint64
	inbox   string
	sub     *nats.Subscription
	answers chan *nats.Msg
	come    [pickWindow]*nats.Msg // answers that have come before it was their turn
	asked   int                   // sequences that were asked for
	dec     ledger.Decoder
	rec     ledger.Record // whose memory is used again by the next one
}

func (l *Log) startPick(seqs []uint64) (*picking, error) {
	p := &picking{log: l, seqs: seqs, inbox: l.nc.NewInbox(), answers: make(chan *nats.Msg, pickWindow)}
	var err error
	p.sub, err = l.nc.ChanSubscribe(p.inbox+".*", p.answers)
	return p, err
}

func (p *picking) run(ctx context.Context, yield func(ledger.Record, error) bool) error {
	silent := time.NewTimer(requestTimeout)
	defer silent.Stop()
	for next, seq := range p.seqs {
		if err := p.ask(next); err != nil {
			return err
		}
		m, err := p.answer(ctx, next%pickWindow, silent)
		if err != nil {
			return fmt.Errorf("sequence %d: %w", seq, err)
		}
		rec, err := p.record(ctx, seq, m)
		if err != nil {
			return fmt.Errorf("sequence %d: %w", seq, err)
		}
		if !yield(rec, nil) {
			return nil
		}
	}
	return nil
}

// ask keeps the window full, which begins with the sequence whose turn it is.
func (p *picking) ask(next int) error {
	subject := "$JS.API.DIRECT.GET." + p.log.cfg.Name
	for ; p.asked < len(p.seqs) && p.asked < next+pickWindow; p.asked++ {
		reply := p.inbox + "." + strconv.Itoa(p.asked%pickWindow)
		body := strconv.AppendUint([]byte(`{"seq":`), p.seqs[p.asked], 10)
		if err := p.log.nc.PublishRequest(subject, reply, append(body, '}')); err != nil {
			return err
		}
	}
	return nil
}

// answer waits for the answer of a slot.
func (p *picking) answer(ctx context.Context, slot int, silent *time.Timer) (*nats.Msg, error) {
	silent.Reset(requestTimeout)
	for p.come[slot] == nil {
		select {
		case m := <-p.answers:
			if n, err := strconv.Atoi(strings.TrimPrefix(m.Subject, p.inbox+".")); err == nil && n >= 0 && n < pickWindow {
				p.come[n] = m
			}
		case <-silent.C:
			return nil, nats.ErrTimeout
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m := p.come[slot]
	p.come[slot] = nil
	return m, nil
}

// record decodes an answer. Of one that there is nothing, the leader has the last word: a replica
// that lags may have answered.
func (p *picking) record(ctx context.Context, seq uint64, m *nats.Msg) (ledger.Record, error) {
	found, err := directAnswer(seq, m)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return p.log.get(ctx, seq)
	}
	if err != nil {
		return ledger.Record{}, err
	}
	p.rec.Seq, p.rec.Appended = seq, found.Time.UTC()
	if err := p.dec.Decode(found.Data, &p.rec.Event); err != nil {
		return ledger.Record{}, err
	}
	return p.rec, nil
}
