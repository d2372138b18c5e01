package stream

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
)

// The headers of what is published. They are stored with every message, so there are no more
// of them than needed and their values are short.
const (
	headerBatchID  = "Nats-Batch-Id"
	headerBatchSeq = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
	headerMsgID    = jetstream.MsgIDHeader
	headerExpect   = jetstream.ExpectedLastSubjSeqHeader
	headerFilter   = jetstream.ExpectedLastSubjSeqSubjHeader
)

// Error codes of the server that nats.go has no names for.
const (
	codeBatchIncomplete = 10176 // a message of the batch did not arrive, or came too late
	codeBatchDuplicate  = 10201 // a message id of the batch is known already
	codeBatchInFlight   = 10210 // too many batches are open
)

// processID tells the appends of this process from those of any other.
type processID string

func newProcessID() processID {
	b := make([]byte, 6)
	rand.Read(b) // never fails
	return processID(base64.RawURLEncoding.EncodeToString(b))
}

// messageID is unique for as long as the server remembers ids and far beyond.
func (p processID) messageID(n uint64) string { return string(p) + strconv.FormatUint(n, 36) }

// batchID is stored with every message and so is short: it has to differ only from those of
// batches that are open at the same time. Should two processes draw the same one, the server
// refuses both batches as incomplete, and they are sent again.
func (p processID) batchID(n uint64) string { return string(p[:2]) + strconv.FormatUint(n%36, 36) }

// parcel is a batch as it is published: a single message plainly, which costs the server a tenth
// of the smallest atomic batch.
//
// The first message carries an id by which the server recognises the whole if it has to be sent
// again. A single message that expects something of its own subject does without: once it is
// stored, its own expectation keeps it from being stored again.
type parcel struct {
	messages []*message
	id       []string // of the whole; nil for none
	batch    []string // id of the atomic batch; nil for a single message
}

func (l *Log) pack(batch []*transaction) parcel {
	a := &l.appender
	a.batches++
	var p parcel
	for _, t := range batch {
		for i := range t.messages {
			p.messages = append(p.messages, &t.messages[i])
		}
	}
	first := p.messages[0]
	if len(p.messages) > 1 || first.expect == nil || !ledger.MatchSubject(first.expect.Filter, first.subject) {
		p.id = []string{a.id.messageID(a.batches)}
	}
	if len(p.messages) > 1 {
		p.batch = []string{a.id.batchID(a.batches)}
	}
	return p
}

// compose makes out message i of the parcel. What was in out is lost, so that one is enough for a
// parcel: the connection keeps nothing of what it has taken.
func (p *parcel) compose(out *nats.Msg, i int) {
	m, h := p.messages[i], out.Header
	clear(h)
	out.Subject, out.Data = m.subject, m.data
	if x := m.expect; x != nil {
		h[headerExpect] = []string{strconv.FormatUint(x.Seq, 10)}
		if x.Filter != m.subject {
			h[headerFilter] = []string{x.Filter}
		}
	}
	if i == 0 && p.id != nil {
		h[headerMsgID] = p.id
	}
	if p.batch != nil {
		h[headerBatchID] = p.batch
		h[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		if i == len(p.messages)-1 {
			h[headerCommit] = []string{"1"}
		}
	}
}

// outcome is what is known after one try to store a batch.
type outcome struct {
	kind  outcomeKind
	first uint64 // sequence of the first message, when stored
	err   error  // why not, when not
}

type outcomeKind int

const (
	outcomeStored    outcomeKind = iota
	outcomeDuplicate             // an earlier try was stored
	outcomeRefused               // not stored: an expectation did not hold
	outcomeAgain                 // not stored, and may work the next time
	outcomeFailed                // not stored, and will not be
	outcomeLost                  // stored or not
)

// send publishes a parcel and waits for the answer. Only the last message asks for one: what went
// wrong with an earlier one shows there.
func (l *Log) send(ctx context.Context, p parcel) outcome {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.answerWait())
	defer cancel()
	if l.nc.IsClosed() {
		return outcome{kind: outcomeFailed, err: nats.ErrConnectionClosed}
	}
	m := &nats.Msg{Header: nats.Header{}}
	last := len(p.messages) - 1
	for i := range last {
		p.compose(m, i)
		if err := l.nc.PublishMsg(m); err != nil {
			return outcome{kind: notSent(err), err: err}
		}
	}
	p.compose(m, last)
	answer, err := l.nc.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return l.nobodyThere(ctx)
	case errors.Is(err, nats.ErrMaxPayload):
		return outcome{kind: outcomeFailed, err: err}
	case err != nil:
		return outcome{kind: outcomeLost, err: err}
	}
	var ack struct {
		Error     *jetstream.APIError `json:"error"`
		Sequence  uint64              `json:"seq"`
		Duplicate bool                `json:"duplicate"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return outcome{kind: outcomeLost, err: fmt.Errorf("answer of the server: %w", err)}
	}
	switch {
	case ack.Error != nil:
		return outcome{kind: refusedAs(ack.Error), err: ack.Error}
	case ack.Duplicate:
		return outcome{kind: outcomeDuplicate}
	}
	return outcome{kind: outcomeStored, first: ack.Sequence - uint64(last)}
}

// notSent says what it means that a message could not even be handed to the connection.
func notSent(err error) outcomeKind {
	if errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed) {
		return outcomeFailed
	}
	return outcomeAgain
}

// nobodyThere finds out why no stream took the messages: it is gone, or not up yet.
func (l *Log) nobodyThere(ctx context.Context) outcome {
	_, err := l.checked(ctx, 0)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrReplaced):
		return outcome{kind: outcomeFailed, err: err}
	case err == nil:
		err = nats.ErrNoResponders
	}
	return outcome{kind: outcomeAgain, err: err}
}

func refusedAs(err *jetstream.APIError) outcomeKind {
	switch err.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return outcomeRefused
	case codeBatchDuplicate:
		return outcomeDuplicate
	case codeBatchIncomplete, codeBatchInFlight:
		return outcomeAgain
	}
	if err.Code == 503 { // the server's own trouble, such as a leader being chosen or a full store
		return outcomeAgain
	}
	return outcomeFailed
}
