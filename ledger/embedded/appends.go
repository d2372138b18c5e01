package embedded

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What clients append goes through this process, message by message in their order, so that it
// can be looked at; a stream takes whatever bytes it is sent. The answers go back the same way.

// The subjects on that way: offsetledger.append.<client>.<subject>, and for the answer
// offsetledger.acknowledged.<subject of the reply>.
const (
	appended     = "offsetledger.append."
	acknowledged = "offsetledger.acknowledged."
)

// pendingAppends bounds what clients have sent and nobody has looked at yet, in bytes. What is
// beyond it is dropped, and its sender gets no answer.
const pendingAppends = 256 << 20

// takeAppends has what a client appends come here.
func (s *Server) takeAppends(to, from *server.Account, c Client) error {
	if len(c.Appends) == 0 {
		return nil
	}
	prefix := appended + c.Name + "."
	open := openBatches{}
	sub, err := s.conn.Subscribe(prefix+">", func(m *nats.Msg) {
		if err := open.admit(m, time.Now()); err != nil {
			s.refuse(m, codeBatchInFlight, err)
			return
		}
		s.passOn(c, strings.TrimPrefix(m.Subject, prefix), m)
	})
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(-1, pendingAppends); err != nil {
		return err
	}
	for _, subject := range c.Appends {
		if err := to.AddServiceExport(prefix+subject, nil); err != nil {
			return err
		}
		if err := from.AddServiceImport(to, subject, prefix+subject); err != nil {
			return err
		}
	}
	return nil
}

// passOn passes a message on to be stored. One of a batch that is refused leaves a hole in it, for
// which the server refuses the batch.
func (s *Server) passOn(c Client, subject string, m *nats.Msg) {
	if c.Check != nil {
		if err := c.Check(subject, m.Data); err != nil {
			s.log.Warn("a client sent what must not be stored", "client", c.Name, "subject", subject, "err", err)
			s.refuse(m, 0, err)
			return
		}
	}
	out := &nats.Msg{Subject: subject, Header: onlyAppendHeaders(m.Header), Data: m.Data}
	if m.Reply != "" {
		out.Reply = acknowledged + m.Reply
	}
	if err := s.conn.PublishMsg(out); err != nil {
		s.log.Warn("a client's message could not be passed on", "client", c.Name, "err", err)
	}
}

// appendHeaders are what an append says beside its event: an id, what it expects, its place in a
// batch. No other header goes on. One would have the server write what it did with the message to a
// subject of the sender's choice, in the account of the ledger, and one would be stored and have
// readers take the event for a word of the server: that is no less than a way past Check.
var appendHeaders = []string{
	jetstream.MsgIDHeader, jetstream.ExpectedStreamHeader, jetstream.ExpectedLastSeqHeader,
	jetstream.ExpectedLastSubjSeqHeader, jetstream.ExpectedLastSubjSeqSubjHeader, jetstream.ExpectedLastMsgIDHeader,
	headerBatchID, headerBatchSeq, headerCommit,
}

// onlyAppendHeaders leaves the headers that an append needs, one value of each.
func onlyAppendHeaders(all nats.Header) nats.Header {
	var some nats.Header
	for _, name := range appendHeaders {
		if v := all[name]; len(v) > 0 {
			if some == nil {
				some = nats.Header{}
			}
			some[name] = v[:1]
		}
	}
	return some
}

// refuse answers in the stream's place, with a code of the server, 0 for none.
func (s *Server) refuse(m *nats.Msg, errCode int, why error) {
	if m.Reply == "" {
		return
	}
	var answer struct {
		Error struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code,omitempty"`
			Description string `json:"description"`
		} `json:"error"`
	}
	answer.Error.Code, answer.Error.ErrCode, answer.Error.Description = 400, errCode, why.Error()
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a number and a text
	}
	s.respond(m, b)
}

// acknowledge passes the stream's answer on to whoever appended.
func (s *Server) acknowledge(m *nats.Msg) {
	out := &nats.Msg{Subject: strings.TrimPrefix(m.Subject, acknowledged), Header: m.Header, Data: m.Data}
	if err := s.conn.PublishMsg(out); err != nil {
		s.log.Warn("a client's append could not be acknowledged", "err", err)
	}
}
