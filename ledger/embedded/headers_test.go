package embedded_test

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/stream"
)

// feeds is a dialer of connections that send a line feed for every tilde: a client need not keep
// to what its library lets it say in a header.
type feeds struct{ net.Conn }

func (feeds) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return feeds{c}, err
}

func (f feeds) Write(b []byte) (int, error) {
	return f.Conn.Write(bytes.ReplaceAll(b, []byte("~"), []byte("\n")))
}

// A header can have the server report on the message to any subject, as itself: were it passed on,
// a writer could have a cursor written that nobody can read. Others would be stored and be taken
// for the server's own by whoever reads the event.
func TestHeadersOfAppendsAreThoseOfAnAppend(t *testing.T) {
	s := share(t)
	nc := s.connect(t, "writer", nats.SetCustomDialer(feeds{}))
	for i, header := range []nats.Header{
		{"Nats-Trace-Dest": {"ol.prod.c.0"}},
		{"Nats-Trace-Dest": {"", "ol.prod.c.0"}},
		{"X": {"x~Nats-Trace-Dest: ol.prod.c.0"}}, // one header to the server, two to a library
		{"X": {"x~Nats-Trace-Dest: ol.prod.c.0~Nats-Trace-Only: true"}},
		{"Status": {"100"}, "Nats-Time-Stamp": {"2001-01-01T00:00:00Z"}, "Nats-Subject": {"ol.prod.c.0"}},
	} {
		e := committed("billing", int64(i+1))
		data, err := e.AppendBinary(nil)
		require.NoError(t, err)
		for bytes.Contains(data, []byte("~")) { // ids are random, and feeds would change it
			e = committed("billing", int64(i+1))
			data, err = e.AppendBinary(nil)
			require.NoError(t, err)
		}
		header["Nats-Msg-Id"] = []string{e.ID.String()}
		answer, err := nc.RequestMsg(&nats.Msg{Subject: e.Subject(), Header: header, Data: data}, 5*time.Second)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"stream":"OFFSETLEDGER","seq":%d}`, i+1), string(answer.Data))

		js, err := jetstream.New(s.srv.Conn())
		require.NoError(t, err)
		ledger, err := js.Stream(t.Context(), stream.DefaultName)
		require.NoError(t, err)
		m, err := ledger.GetMsg(t.Context(), uint64(i+1))
		require.NoError(t, err)
		require.Equal(t, []string{e.Subject()}, m.Header["Nats-Subject"])
		for _, own := range []string{"Nats-Stream", "Nats-Sequence", "Nats-Subject", "Nats-Time-Stamp"} { // the server's
			require.Len(t, m.Header[own], 1)
			delete(m.Header, own)
		}
		require.Equal(t, nats.Header{"Nats-Msg-Id": {e.ID.String()}}, m.Header)
	}
	require.EqualValues(t, 5, s.last(t))
}
