package kafkatest_test

import (
	"crypto/tls"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

var _ cluster = (*kafkatest.Real)(nil)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kafkatest.Closing(m))
}

// skipShort leaves out what starts a broker of its own, where the same code runs without -short.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a broker of its own")
	}
}

func TestBrokerOfTheTestsAnswers(t *testing.T) {
	r := kafkatest.Shared(t, "")
	cl, err := kgo.NewClient(r.Options()...)
	require.NoError(t, err)
	defer cl.Close()
	require.NoError(t, cl.Ping(timeout(t)))
}

func TestContractOnKafka44(t *testing.T) {
	contract(t, kafkatest.Shared(t, kafkatest.Version44))
}

func TestContractOnKafka40(t *testing.T) {
	skipShort(t)
	contract(t, kafkatest.Shared(t, kafkatest.Version40))
}

func TestABrokerThatCannotStartTellsWhy(t *testing.T) {
	_, err := kafkatest.StartReal(timeout(t), kafkatest.RealConfig{
		Dir: t.TempDir(), Properties: map[string]string{"log.cleaner.threads": "-1"},
	})
	if os.Getenv(kafkatest.EnvRequire) != "1" && err != nil {
		skipWithoutJava(t, err)
	}
	require.ErrorContains(t, err, "log.cleaner.threads")
}

func skipWithoutJava(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, kafkatest.ErrNoJava) {
		t.Skip(err)
	}
}

// A group of the stock tools' own: read by the console consumer, moved back, deleted.
func TestStockToolsOnASharedBroker(t *testing.T) {
	r := kafkatest.Shared(t, "")
	ctx := timeout(t)
	topic, group := unique("console"), unique("console-group")
	server := []string{"--bootstrap-server", r.Addrs()[0]}
	tool := func(class string, args ...string) string {
		t.Helper()
		out, err := r.Tool(ctx, class, append(server, args...)...)
		require.NoError(t, err)
		return out
	}
	tool(kafkatest.TopicCommand, "--create", "--topic", topic, "--partitions", "1")
	_, err := r.ToolInput(ctx, strings.NewReader("one\ntwo\nthree\n"), kafkatest.ConsoleProducer, append(server, "--topic", topic)...)
	require.NoError(t, err)
	out := tool(kafkatest.ConsoleConsumer, "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "3")
	require.Contains(t, out, "one\ntwo\nthree\n")
	out = tool(kafkatest.ConsumerGroupCommand, "--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
	require.Contains(t, out, group)
	tool(kafkatest.ConsumerGroupCommand, "--group", group, "--delete")

	recs, err := r.ReadOffsets(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"3", "0", "x", "X"}, committed(t, recs, group))

	_, err = r.Tool(ctx, kafkatest.TopicCommand, append(server, "--describe", "--topic", unique("nowhere"))...)
	require.ErrorContains(t, err, "run TopicCommand")
}

// A user without rights sees nothing of the offsets topic; the one with an ACL does.
func TestUsersAndRightsOfARealBroker(t *testing.T) {
	skipShort(t)
	certs, err := kafkatest.NewCerts()
	require.NoError(t, err)
	r := kafkatest.Start(t, kafkatest.RealConfig{
		Certs: certs, ACLs: true,
		Users: []kafkatest.User{
			{Mechanism: "SCRAM-SHA-512", Name: "alice", Password: "alice-pw"},
			{Mechanism: "SCRAM-SHA-512", Name: "root", Password: "root-pw", Super: true},
		},
	})
	ctx := timeout(t)
	require.NoError(t, r.CreateTopic(ctx, "orders", 1))
	require.NoError(t, r.Commit(ctx, "g", "orders", map[int32]int64{0: 1}))
	ends := func(user string) error {
		cl, err := kgo.NewClient(
			kgo.SeedBrokers(r.Addr("SASL_SSL")),
			kgo.DialTLSConfig(&tls.Config{RootCAs: certs.Pool(), MinVersion: tls.VersionTLS12}),
			kgo.SASL(scram.Auth{User: user, Pass: user + "-pw"}.AsSha512Mechanism()),
		)
		require.NoError(t, err)
		defer cl.Close()
		listed, err := kadm.NewClient(cl).ListEndOffsets(ctx, kafkatest.OffsetsTopic)
		return errors.Join(err, listed.Error())
	}
	require.NoError(t, ends("root"))
	require.ErrorIs(t, ends("alice"), kerr.TopicAuthorizationFailed)
	_, err = r.Tool(ctx, kafkatest.AclCommand, "--bootstrap-server", r.Addrs()[0], "--add",
		"--allow-principal", "User:alice", "--operation", "Read", "--topic", kafkatest.OffsetsTopic)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return ends("alice") == nil }, 30*time.Second, 50*time.Millisecond)

	broker, err := os.FindProcess(r.PID())
	require.NoError(t, err)
	require.NoError(t, broker.Signal(syscall.Signal(0)))
	require.NoError(t, r.Close())
	require.ErrorIs(t, broker.Signal(syscall.Signal(0)), os.ErrProcessDone)
	require.NoError(t, r.Close(), "closing twice is fine")
}
