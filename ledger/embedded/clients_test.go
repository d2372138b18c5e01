package embedded_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// shared is a server with a ledger that others may reach as a writer and as a reader.
type shared struct {
	srv *embedded.Server
	log *stream.Log // the owner's
	dir string
}

func clients() []embedded.Client {
	return []embedded.Client{
		{Name: "writer", Requests: stream.ReadRequests(""), Appends: stream.GroupAppends(), Check: stream.CheckMessage},
		{Name: "reader", Requests: stream.ReadRequests("")},
	}
}

func share(t *testing.T) *shared {
	t.Helper()
	s := &shared{dir: filepath.Join(t.TempDir(), "ledger")}
	s.srv = start(t, embedded.Config{Dir: s.dir, Listen: "127.0.0.1:0", Clients: clients()})
	var err error
	s.log, err = stream.Create(t.Context(), s.srv.Conn(), stream.Config{})
	require.NoError(t, err)
	return s
}

// connect connects with the key of a client.
func (s *shared) connect(t *testing.T, client string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(embedded.KeyFile(s.dir, client))
	require.NoError(t, err)
	nc, err := nats.Connect(s.srv.URL(), append(opts, key)...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func (s *shared) open(t *testing.T, client string) *stream.Log {
	t.Helper()
	log, err := stream.Open(t.Context(), s.connect(t, client), stream.Config{AppendTimeout: 2 * time.Second})
	require.NoError(t, err)
	return log
}

// last is the sequence that the ledger ends at.
func (s *shared) last(t *testing.T) uint64 {
	t.Helper()
	last, err := s.log.Last(t.Context())
	require.NoError(t, err)
	return last
}

func committed(group string, at int64) ledger.Event {
	now := ledger.AtTime(time.Now())
	return ledger.Event{
		ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "prod", Group: group, Time: now,
		Source:  ledger.Source{Kind: ledger.SourceManager, Instance: "pod-1"},
		Offsets: []ledger.Offset{{Topic: "orders", At: at, Effective: now}},
	}
}

func TestWriterAppendsReadsAndFollows(t *testing.T) {
	s := share(t)
	log := s.open(t, "writer")
	one, err := log.Append(t.Context(), []ledger.Event{committed("billing", 1)})
	require.NoError(t, err)
	mine := ledger.Expect{Filter: ledger.GroupSubjects("prod", "billing"), Seq: one.Last}
	batch, err := log.Append(t.Context(), []ledger.Event{committed("billing", 2), committed("billing", 3)}, mine)
	require.NoError(t, err)
	require.Equal(t, ledger.Receipt{First: 2, Last: 3}, batch)
	_, err = log.Append(t.Context(), []ledger.Event{committed("billing", 4), committed("billing", 5)}, mine)
	var conflict *ledger.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, &ledger.ConflictError{Filter: mine.Filter, Wanted: 1, Found: 3}, conflict)
	require.EqualValues(t, 3, s.last(t))
	requireReads(t, s, log)
}

func TestReaderReadsAndFollows(t *testing.T) {
	s := share(t)
	for i := range int64(3) {
		_, err := s.log.Append(t.Context(), []ledger.Event{committed("billing", i+1)})
		require.NoError(t, err)
	}
	requireReads(t, s, s.open(t, "reader"))
}

// requireReads reads a ledger of three commits of billing in all ways, and then a fourth.
func requireReads(t *testing.T, s *shared, log *stream.Log) {
	t.Helper()
	for _, f := range []ledger.Filter{{}, {Subjects: []string{ledger.GroupSubjects("prod", "billing")}}} {
		var at []int64
		for rec, err := range log.Read(t.Context(), 1, 0, f) {
			require.NoError(t, err)
			at = append(at, rec.Event.Offsets[0].At)
		}
		require.Equal(t, []int64{1, 2, 3}, at)
	}
	rec, err := log.Get(t.Context(), 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, rec.Event.Offsets[0].At)
	last, err := log.LastOf(t.Context(), ledger.GroupSubjects("prod", "billing"))
	require.NoError(t, err)
	require.EqualValues(t, 3, last)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for rec, err := range log.Follow(ctx, 3, ledger.Filter{}) {
		require.NoError(t, err)
		if rec.Seq == 4 {
			break
		}
		_, err = s.log.Append(t.Context(), []ledger.Event{committed("billing", 4)})
		require.NoError(t, err)
	}
}

// A message under any subject but those of groups is not stored, whoever sends it: those of
// capture, watermarks, topics, source partitions and operators are the daemon's alone.
func TestClientsAppendToGroupsOnly(t *testing.T) {
	s := share(t)
	for client, subjects := range map[string][]string{
		"writer": {"ol.prod.c.0", "ol.prod.w.3", "ol.prod.t.orders.topic", "ol.prod.s.1.gap", "ol.prod.o.operator", "ol.prod", "ol.prod.g.billing", "ol.prod.g.billing.committed.x"},
		"reader": {"ol.prod.g.billing.committed", "ol.prod.c.0"},
	} {
		nc := s.connect(t, client)
		for _, subject := range subjects {
			_, err := nc.Request(subject, []byte("x"), 300*time.Millisecond)
			require.Error(t, err, "%s to %s", client, subject)
		}
	}
	require.Zero(t, s.last(t))
	_, err := s.open(t, "reader").Append(t.Context(), []ledger.Event{committed("billing", 1)})
	require.Error(t, err)
	require.Zero(t, s.last(t))
}

// What is no event, or not one of the subject that it is sent under, is refused, and a batch with it
// as a whole: nobody could read the ledger past it.
func TestWhatIsNoEventIsNotStored(t *testing.T) {
	s := share(t)
	nc := s.connect(t, "writer")
	other := committed("other", 1)
	foreign, err := other.AppendBinary(nil)
	require.NoError(t, err)
	empty := committed("billing", 1)
	empty.Offsets = nil
	invalid, err := empty.AppendBinary(nil)
	require.NoError(t, err)
	forged := committed("billing", 1)
	forged.Source = ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: 1 << 60}
	seen, err := forged.AppendBinary(nil)
	require.NoError(t, err)
	subject := ledger.GroupSubject("prod", "billing", ledger.KindCommitted)
	for name, c := range map[string]struct {
		message []byte
		want    string
	}{
		"no event":             {[]byte("x"), "damaged event"},
		"of another group":     {foreign, "an event of ol.prod.g.other.committed under ol.prod.g.billing.committed"},
		"that says too little": {invalid, "invalid"},
		"of capture":           {seen, "an event of source tail: what was seen in Kafka only capture tells"},
	} {
		answer, err := nc.Request(subject, c.message, 5*time.Second)
		require.NoError(t, err, name)
		require.Contains(t, string(answer.Data), c.want, name)
	}
	for i, message := range [][]byte{[]byte("x"), foreign} {
		m := nats.NewMsg(subject)
		m.Data = message
		m.Header.Set("Nats-Batch-Id", "b")
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		require.NoError(t, nc.PublishMsg(m))
	}
	mine := committed("billing", 1)
	good, err := mine.AppendBinary(nil)
	require.NoError(t, err)
	m := nats.NewMsg(subject)
	m.Data = good
	m.Header.Set("Nats-Batch-Id", "b")
	m.Header.Set("Nats-Batch-Sequence", "3")
	m.Header.Set("Nats-Batch-Commit", "1")
	answer, err := nc.RequestMsg(m, 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(answer.Data), `"error"`)
	require.Zero(t, s.last(t))
}

// A server answers a request to the subject that the request names, as itself. Were clients in
// the ledger's account, an answer could so be stored as a cursor, or a ledger's own old cursor
// be delivered as a new one.
func TestAnswersCannotBeSentIntoTheLedger(t *testing.T) {
	s := share(t)
	_, err := s.log.Append(t.Context(), []ledger.Event{committed("billing", 1)})
	require.NoError(t, err)
	for _, client := range []string{"writer", "reader"} {
		nc := s.connect(t, client)
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		consumer, err := js.CreateConsumer(t.Context(), stream.DefaultName, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
		require.NoError(t, err)
		require.NoError(t, nc.PublishRequest("$JS.API.STREAM.INFO.OFFSETLEDGER", "ol.prod.c.0", nil))
		require.NoError(t, nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.OFFSETLEDGER."+consumer.CachedInfo().Name, "ol.prod.c.0", []byte("1")))
		require.NoError(t, nc.Flush())
		_, err = nc.Request("$JS.API.STREAM.INFO.OFFSETLEDGER", nil, time.Second) // after the others
		require.NoError(t, err)

		for _, deliver := range []string{"ol.prod.c.0", "$KV.offsets.prod", "anywhere"} {
			config, err := json.Marshal(map[string]any{
				"stream_name": stream.DefaultName,
				"config":      map[string]any{"name": "pusher", "deliver_subject": deliver, "ack_policy": "none"},
			})
			require.NoError(t, err)
			answer, err := nc.Request("$JS.API.CONSUMER.CREATE.OFFSETLEDGER.pusher", config, time.Second)
			require.NoError(t, err)
			require.Contains(t, string(answer.Data), "pull consumers only")
		}
	}
	require.EqualValues(t, 1, s.last(t))
}

func TestClientsChangeNoStream(t *testing.T) {
	s := share(t)
	_, err := s.log.Append(t.Context(), []ledger.Event{committed("billing", 1)})
	require.NoError(t, err)
	own, err := jetstream.New(s.srv.Conn())
	require.NoError(t, err)
	kv, err := own.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "offsets"})
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), "k", []byte("kept"))
	require.NoError(t, err)
	for _, client := range []string{"writer", "reader"} {
		js, err := jetstream.New(s.connect(t, client))
		require.NoError(t, err)
		refused := func(what string, do func(ctx context.Context) error) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			require.Error(t, do(ctx), "%s: %s", client, what)
		}
		ledgerStream, err := js.Stream(t.Context(), stream.DefaultName)
		require.NoError(t, err)
		cfg := ledgerStream.CachedInfo().Config
		cfg.MaxMsgs = 1
		refused("update", func(ctx context.Context) error { _, err := js.UpdateStream(ctx, cfg); return err })
		refused("purge", func(ctx context.Context) error { return ledgerStream.Purge(ctx) })
		refused("delete a message", func(ctx context.Context) error { return ledgerStream.DeleteMsg(ctx, 1) })
		refused("delete", func(ctx context.Context) error { return js.DeleteStream(ctx, stream.DefaultName) })
		refused("make", func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "MINE", Subjects: []string{"mine"}})
			return err
		})
		refused("look at another stream", func(ctx context.Context) error { _, err := js.Stream(ctx, "KV_offsets"); return err })
		refused("read another stream", func(ctx context.Context) error {
			_, err := js.CreateConsumer(ctx, "KV_offsets", jetstream.ConsumerConfig{})
			return err
		})
		refused("write another stream", func(ctx context.Context) error { _, err := js.Publish(ctx, "$KV.offsets.k", []byte("x")); return err })
		refused("list streams", func(ctx context.Context) error {
			names := js.StreamNames(ctx)
			for name := range names.Name() {
				t.Errorf("%s sees the stream %s", client, name)
			}
			return names.Err()
		})
	}
	require.EqualValues(t, 1, s.last(t))
	e, err := kv.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "kept", string(e.Value()))
}

// What one client sends or listens to, another neither sees nor answers.
func TestClientsDoNotHearEachOther(t *testing.T) {
	s := share(t)
	writer, reader := s.connect(t, "writer"), s.connect(t, "reader")
	sub, err := reader.SubscribeSync(">")
	require.NoError(t, err)
	require.NoError(t, reader.Flush())
	_, err = s.open(t, "writer").Append(t.Context(), []ledger.Event{committed("billing", 1)})
	require.NoError(t, err)
	require.NoError(t, writer.Publish("ol.prod.g.billing.note", nil))
	require.NoError(t, writer.Flush())
	_, err = sub.NextMsg(100 * time.Millisecond)
	require.ErrorIs(t, err, nats.ErrTimeout)
}

func TestKeysOpenTheGate(t *testing.T) {
	s := share(t)
	foreign, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := foreign.PublicKey()
	require.NoError(t, err)
	seed, err := os.ReadFile(embedded.KeyFile(s.dir, "reader"))
	require.NoError(t, err)
	reader, err := nkeys.FromSeed(seed[:len(seed)-1])
	require.NoError(t, err)
	readerPublic, err := reader.PublicKey()
	require.NoError(t, err)
	for name, opt := range map[string]nats.Option{
		"nothing":         nats.Name("anybody"),
		"a password":      nats.UserInfo("writer", "writer"),
		"a foreign key":   nats.Nkey(public, foreign.Sign),
		"another's name":  nats.Nkey(readerPublic, foreign.Sign),
		"a stale message": nats.Nkey(readerPublic, func([]byte) ([]byte, error) { return reader.Sign([]byte("another nonce")) }),
	} {
		_, err := nats.Connect(s.srv.URL(), opt)
		require.ErrorIs(t, err, nats.ErrAuthorization, name)
	}
	for _, client := range []string{"writer", "reader"} {
		info, err := os.Stat(embedded.KeyFile(s.dir, client))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

// Keys last: pods keep what they were given over a restart of the daemon.
func TestKeysAreThereAfterRestart(t *testing.T) {
	s := share(t)
	before, err := os.ReadFile(embedded.KeyFile(s.dir, "writer"))
	require.NoError(t, err)
	_, err = s.log.Append(t.Context(), []ledger.Event{committed("billing", 1)})
	require.NoError(t, err)
	require.NoError(t, s.srv.Close())
	s.srv = start(t, embedded.Config{Dir: s.dir, Listen: "127.0.0.1:0", Clients: clients()})
	after, err := os.ReadFile(embedded.KeyFile(s.dir, "writer"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	last, err := s.open(t, "writer").Last(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, last)
	require.NoError(t, s.srv.Close())

	require.NoError(t, os.WriteFile(embedded.KeyFile(s.dir, "writer"), []byte("no key"), 0o600))
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: s.dir, Listen: "127.0.0.1:0", Clients: clients()})
	require.ErrorContains(t, err, "writer.nk")
	require.NotContains(t, err.Error(), "no key")
}

func TestClientsAreChecked(t *testing.T) {
	for want, cfg := range map[string]embedded.Config{
		`client name ""`:          {Listen: "127.0.0.1:0", Clients: []embedded.Client{{}}},
		`client name "a/../../x"`: {Listen: "127.0.0.1:0", Clients: []embedded.Client{{Name: "a/../../x"}}},
		`"A" is there twice`:      {Listen: "127.0.0.1:0", Clients: []embedded.Client{{Name: "a"}, {Name: "A"}}},
		"no listen address":       {Clients: []embedded.Client{{Name: "a"}}},
		"no listen address ":      {TLS: &tls.Config{}},
	} {
		cfg.Dir = t.TempDir()
		_, err := embedded.Start(t.Context(), cfg)
		require.ErrorContains(t, err, want[:len(want)-1])
	}
}

func ExampleKeyFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(ctx, embedded.Config{
		Dir: dir, Listen: "127.0.0.1:0", Clients: []embedded.Client{{Name: "reader", Requests: stream.ReadRequests("")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	key, err := nats.NkeyOptionFromSeed(embedded.KeyFile(dir, "reader"))
	if err != nil {
		fmt.Println(err)
		return
	}
	nc, err := nats.Connect(srv.URL(), key)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	_, err = stream.Open(ctx, nc, stream.Config{})
	fmt.Println(err)
	// Output: open stream OFFSETLEDGER: stream not found
}
