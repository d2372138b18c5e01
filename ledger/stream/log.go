package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
)

// Incarnation tells this stream from any other of its name. Sequences mean something only
// together with it.
func (l *Log) Incarnation() uuid.UUID { return l.incarnation }

// Last returns the sequence of the last event, 0 when there is none. On a replicated stream
// the leader answers, so that an acknowledged append is always included.
func (l *Log) Last(ctx context.Context) (uint64, error) {
	info, err := l.checked(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("last sequence of %s: %w", l.cfg.Name, err)
	}
	return info.State.LastSeq, nil
}

// LastOf returns the sequence of the last event whose subject filter matches, 0 when there is
// none. Filter is a subject or one with wildcards, as in [ledger.Filter]. As with Last, an
// acknowledged append is always included, so that the answer can be expected in an append. It
// fails with [ledger.ErrMissing] when there is one and it cannot be read any more.
func (l *Log) LastOf(ctx context.Context, filter string) (uint64, error) {
	seq, err := l.lastOf(ctx, filter)
	if err != nil {
		return 0, fmt.Errorf("last sequence of %s in %s: %w", filter, l.cfg.Name, err)
	}
	return seq, nil
}

func (l *Log) lastOf(ctx context.Context, filter string) (uint64, error) {
	m, err := l.leaderGet(ctx, getRequest{LastBySubject: filter})
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return m.Seq, err
	}
	// A damaged message is not found either, and only the count of messages tells that it is
	// there. It is asked first and the message again, since one may just have been stored.
	some, err := l.some(ctx, filter)
	if err != nil || !some {
		return 0, err
	}
	m, err = l.leaderGet(ctx, getRequest{LastBySubject: filter})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, fmt.Errorf("%w: the last event is there and cannot be read", ledger.ErrMissing)
	}
	return m.Seq, err
}

// some reports whether the server counts any message that filter matches.
func (l *Log) some(ctx context.Context, filter string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := l.js.Stream(ctx, l.cfg.Name)
	if err != nil {
		return false, known(err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return false, known(err)
	}
	return len(info.State.Subjects) > 0, nil
}

// Get returns the event of one sequence. It fails with [ledger.ErrMissing] when there is none.
func (l *Log) Get(ctx context.Context, seq uint64) (ledger.Record, error) {
	rec, err := l.get(ctx, seq)
	if err != nil {
		return ledger.Record{}, fmt.Errorf("get sequence %d of %s: %w", seq, l.cfg.Name, err)
	}
	return rec, nil
}

func (l *Log) get(ctx context.Context, seq uint64) (ledger.Record, error) {
	if seq == 0 {
		return ledger.Record{}, ledger.ErrMissing
	}
	m, err := l.directGet(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		// A replica that lags may have answered; the leader has the last word.
		m, err = l.leaderGet(ctx, getRequest{Seq: seq})
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ledger.Record{}, ledger.ErrMissing
	}
	if err != nil {
		return ledger.Record{}, err
	}
	e, err := ledger.Decode(m.Data)
	if err != nil {
		return ledger.Record{}, err
	}
	return ledger.Record{Seq: m.Seq, Appended: m.Time.UTC(), Event: e}, nil
}

// stored is a message as the server hands it out one by one.
type stored struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

type getRequest struct {
	Seq           uint64 `json:"seq,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
}

// leaderGet asks the stream's leader, which knows every acknowledged message. It fails with
// jetstream.ErrMsgNotFound when nothing matches.
func (l *Log) leaderGet(ctx context.Context, req getRequest) (stored, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return stored{}, err
	}
	answer, err := l.request(ctx, &nats.Msg{Subject: "$JS.API.STREAM.MSG.GET." + l.cfg.Name, Data: body})
	if err != nil {
		return stored{}, err
	}
	var resp struct {
		Error   *jetstream.APIError `json:"error"`
		Message stored              `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &resp); err != nil {
		return stored{}, fmt.Errorf("answer of the server: %w", err)
	}
	if resp.Error != nil {
		return stored{}, known(resp.Error)
	}
	return resp.Message, nil
}

// directGet asks whichever server has the stream. The position of the message is in headers, and
// so is that there is none.
func (l *Log) directGet(ctx context.Context, seq uint64) (stored, error) {
	answer, err := l.request(ctx, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + l.cfg.Name, Data: fmt.Appendf(nil, `{"seq":%d}`, seq)})
	if err != nil {
		return stored{}, err
	}
	return directAnswer(seq, answer)
}

// directAnswer reads the answer to a direct get.
func directAnswer(seq uint64, answer *nats.Msg) (stored, error) {
	switch status := answer.Header.Get("Status"); status {
	case "":
	case "404":
		return stored{}, jetstream.ErrMsgNotFound
	case "503":
		return stored{}, nats.ErrNoResponders
	default:
		return stored{}, fmt.Errorf("answer of the server: status %s", status)
	}
	at, err := time.Parse(time.RFC3339Nano, answer.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return stored{}, fmt.Errorf("answer of the server: %w", err)
	}
	return stored{Subject: answer.Header.Get("Nats-Subject"), Seq: seq, Data: answer.Data, Time: at}, nil
}

// requestTimeout bounds a request whose context has no deadline of its own.
const requestTimeout = 5 * time.Second

func (l *Log) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := l.nc.RequestMsgWithContext(ctx, m)
	return answer, known(err)
}

func (l *Log) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := l.js.Stream(ctx, l.cfg.Name)
	if err != nil {
		return nil, known(err)
	}
	return s.CachedInfo(), nil
}

// checked returns the stream's state and fails with ErrReplaced when it is not the stream that
// was opened, or does not reach to sequence atLeast any more.
func (l *Log) checked(ctx context.Context, atLeast uint64) (*jetstream.StreamInfo, error) {
	atLeast = max(atLeast, l.seen.Load()) // read before asking: appends go on
	info, err := l.info(ctx)
	if err != nil {
		return nil, err
	}
	incarnation, _ := incarnationOf(info)
	state := info.State
	switch {
	case incarnation != l.incarnation:
		return nil, fmt.Errorf("%w: incarnation %s was opened and %s is there now", ErrReplaced, l.incarnation, incarnation)
	case state.Msgs != state.LastSeq:
		return nil, fmt.Errorf("%w: it should hold %d events and holds %d", ErrReplaced, state.LastSeq, state.Msgs)
	case state.LastSeq < atLeast:
		return nil, fmt.Errorf("%w: sequence %d was there and it now ends at %d", ErrReplaced, atLeast, state.LastSeq)
	}
	return info, nil
}

var errEnable = fmt.Errorf("%w: enable JetStream on the NATS server, for the account of this connection", ErrNoJetStream)

// opening says of a server on which nobody answers for JetStream that it has none. Later, when
// it has been there, that can be a server that is starting.
func opening(err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return errEnable
	}
	return err
}

// known turns the errors of NATS that callers have to tell apart into those of this package.
// They are told apart by code.
func known(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return ErrNotFound
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return ErrExists
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errEnable
	case errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return jetstream.ErrMsgNotFound
	}
	return err
}
