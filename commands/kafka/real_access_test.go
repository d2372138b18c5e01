package kafka

import (
	"context"
	"crypto/tls"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
)

// minute is the time of a test with a real broker.
func minute(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A real broker with a listener of each kind, authorization, and a user without rights: its
// answers are explained like those of the fake one, and its refusals are known for what they
// are. Then the user is given one right after the other.
func TestRealBrokerAccess(t *testing.T) {
	own := certs(t)
	r := kafkatest.Start(t, kafkatest.RealConfig{
		Certs: own, ACLs: true, Users: []kafkatest.User{{Mechanism: "SCRAM-SHA-512", Name: "capture", Password: "secret"}},
	})
	require.NoError(t, r.CreateTopic(minute(t), "orders", 3))
	require.NoError(t, r.Commit(minute(t), "billing", "orders", map[int32]int64{0: 5, 2: 7}))
	trusted := &tls.Config{RootCAs: own.Pool(), MinVersion: tls.VersionTLS12}
	login := scram.Auth{User: "capture", Pass: "secret"}.AsSha512Mechanism()

	t.Run("explained", func(t *testing.T) { explainReal(t, r, trusted) })

	at := Endpoint{Brokers: []string{r.Addr("SASL_SSL")}, TLS: true, SASL: true}
	client, err := kgo.NewClient(kgo.SeedBrokers(at.Brokers...), kgo.DialTLSConfig(trusted), kgo.SASL(login))
	require.NoError(t, err)
	defer client.Close()
	a := CheckAccess(minute(t), client, at)
	require.Equal(t, map[RightKey]string{
		RightReach: "yes", RightDescribeCluster: "no", RightListGroups: "yes", RightDescribeGroups: "no",
		RightReadOffsets: "no", RightDescribeTopics: "unknown", RightDescribeConfigs: "no",
	}, verdicts(a))
	require.Equal(t, ModeNone, a.Mode)

	allow := func(resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) {
		require.NoError(t, allowUser(minute(t), r, "User:capture", resource, name, operation))
	}
	allow(kmsg.ACLResourceTypeGroup, "*", kmsg.ACLOperationDescribe)
	allow(kmsg.ACLResourceTypeTopic, "orders", kmsg.ACLOperationDescribe)
	a = checkUntil(t, client, at, RightDescribeTopics)
	require.Equal(t, ModeNone, a.Mode)
	require.Equal(t, []int{1, 1, 3}, []int{a.Groups, a.Topics, a.Partitions})

	allow(kmsg.ACLResourceTypeTopic, offsetsTopic, kmsg.ACLOperationRead)
	allow(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribe)
	allow(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribeConfigs)
	a = checkUntil(t, client, at, RightDescribeConfigs)
	require.Equal(t, map[RightKey]string{
		RightReach: "yes", RightDescribeCluster: "yes", RightListGroups: "yes", RightDescribeGroups: "yes",
		RightReadOffsets: "yes", RightDescribeTopics: "yes", RightDescribeConfigs: "yes",
	}, verdicts(a))
	require.Equal(t, ModeTail, a.Mode)
	require.Equal(t, int32(4), a.Source)
	require.True(t, a.Oldest.Known())
	require.Equal(t, 7*24*time.Hour, a.Retention)
}

// explainReal goes through the ways in which a real broker is not to be had.
func explainReal(t *testing.T, r *kafkatest.Real, trusted *tls.Config) {
	to := func(protocol string, change func(*Endpoint), opts ...kgo.Opt) error {
		at := Endpoint{Brokers: []string{r.Addr(protocol)}}
		change(&at)
		return reach(t, at, opts...)
	}
	withTLS, withLogin := func(e *Endpoint) { e.TLS = true }, func(e *Endpoint) { e.SASL = true }
	nothing := func(*Endpoint) {}

	err := to("SASL_PLAINTEXT", withLogin, kgo.SASL(scram.Auth{User: "capture", Pass: "wrong"}.AsSha512Mechanism()))
	require.ErrorIs(t, err, kerr.SaslAuthenticationFailed)
	require.ErrorContains(t, err, "the login was refused")

	err = to("SASL_PLAINTEXT", withLogin, kgo.SASL(plain.Auth{User: "capture", Pass: "secret"}.AsMechanism()))
	require.ErrorIs(t, err, kerr.UnsupportedSaslMechanism)

	require.ErrorContains(t, to("SASL_PLAINTEXT", nothing), "closed the connection at the first request")
	require.ErrorContains(t, to("SSL", nothing), "the port speaks TLS and the client does not")
	require.ErrorContains(t, to("SASL_SSL", withLogin, kgo.SASL(plain.Auth{User: "a", Pass: "b"}.AsMechanism())),
		"the port speaks TLS and the client does not")
	require.ErrorContains(t, to("PLAINTEXT", withTLS, kgo.DialTLSConfig(trusted)), "the port does not speak TLS")
	require.ErrorContains(t, to("SSL", withTLS, kgo.DialTLSConfig(&tls.Config{RootCAs: certs(t).Pool(), MinVersion: tls.VersionTLS12})),
		"not signed by an authority that is trusted here")
	require.NoError(t, to("SSL", withTLS, kgo.DialTLSConfig(trusted)))
}

// allowUser gives a principal a right, as an administrator would.
func allowUser(ctx context.Context, r *kafkatest.Real, principal string, resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) error {
	client, err := kgo.NewClient(r.Options()...)
	if err != nil {
		return err
	}
	defer client.Close()
	req := kmsg.NewPtrCreateACLsRequest()
	creation := kmsg.NewCreateACLsRequestCreation()
	creation.ResourceType, creation.ResourceName = resource, name
	creation.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
	creation.Principal, creation.Host = principal, "*"
	creation.Operation, creation.PermissionType = operation, kmsg.ACLPermissionTypeAllow
	req.Creations = append(req.Creations, creation)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Results[0].ErrorCode)
}

// checkUntil checks until the right that was given last has reached the broker.
func checkUntil(t *testing.T, client *kgo.Client, at Endpoint, right RightKey) *Access {
	var a *Access
	require.Eventually(t, func() bool {
		a = CheckAccess(minute(t), client, at)
		return verdicts(a)[right] == "yes"
	}, patience, 100*time.Millisecond)
	return a
}

// On a real broker, watermarks and committed offsets are told as its other clients read them:
// a transaction that is open, a group that does not exist, a topic that is deleted.
func TestRealBrokerObservedAndReread(t *testing.T) {
	for _, version := range []string{kafkatest.Version44, kafkatest.Version40} {
		t.Run(version, func(t *testing.T) {
			r := kafkatest.Shared(t, version)
			client, err := kgo.NewClient(r.Options()...)
			require.NoError(t, err)
			defer client.Close()
			topic := "observed-" + strconv.FormatInt(time.Now().UnixNano(), 36) // the broker outlives the test
			require.NoError(t, r.CreateTopic(minute(t), topic, 2))
			require.NoError(t, r.Produce(minute(t), topic, 1, 3))
			txn, err := kgo.NewClient(append(r.Options(), kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic),
				kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
			require.NoError(t, err)
			defer txn.Close()
			require.NoError(t, txn.BeginTransaction())
			require.NoError(t, txn.ProduceSync(minute(t), &kgo.Record{Partition: 1}).FirstErr())

			o, err := NewObserver(ObserverConfig{Client: client, Cluster: "c"})
			require.NoError(t, err)
			o.Track(tracked(topic, 2))
			events, err := o.Observe(minute(t), time.Now())
			require.NoError(t, err)
			id := events[0].TopicInfo.TopicID
			require.Equal(t, []ledger.Watermark{
				{Topic: topic, TopicID: id, Partition: 0},
				{Topic: topic, TopicID: id, Partition: 1, LastStable: 3, LogEnd: 4},
			}, events[1].Watermarks.Rows)
			require.NoError(t, txn.EndTransaction(minute(t), kgo.TryCommit))

			group := topic + " g"
			offsets := kadm.Offsets{}
			offsets.Add(kadm.Offset{Topic: topic, Partition: 1, At: 2, LeaderEpoch: -1, Metadata: "m"})
			require.NoError(t, r.CommitOffsets(minute(t), group, offsets))
			answers := Reread(minute(t), client, []OffsetKey{
				{Group: group, Topic: topic, Partition: 1}, {Group: group, Topic: topic, Partition: 0},
				{Group: "never seen", Topic: topic, Partition: 1}, {Group: group, Topic: "no-such-topic"},
			})
			require.NoError(t, answers[0].Err)
			require.Equal(t, int64(2), answers[0].Row.At)
			require.Equal(t, "m", answers[0].Row.Metadata)
			require.False(t, answers[0].Row.LeaderEpoch.Kafka() >= 0)
			for _, a := range answers[1:3] {
				require.NoError(t, a.Err)
				require.False(t, a.Exists)
			}
			t.Logf("of a topic that does not exist: %+v", answers[3])
			require.False(t, answers[3].Exists)

			require.NoError(t, r.DeleteTopic(minute(t), topic))
			require.Eventually(t, func() bool {
				events, _ = o.Observe(minute(t), time.Now())
				return o.Gone(topic)
			}, patience, 100*time.Millisecond)
			require.Equal(t, &ledger.TopicInfo{TopicID: id, Deleted: true}, events[0].TopicInfo)
		})
	}
}
