package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/offsetledger/offsetledger/ledger"
)

// allowed is an ACL that allows one operation on everything of a kind, or on one topic.
func allowed(resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
}

// accessOf checks the access of a user with ACLs to a cluster with one group, three
// partitions of one topic, and __consumer_offsets where wanted.
func accessOf(t *testing.T, source bool, acls ...kfake.ACL) *Access {
	opts := []kfake.Opt{
		kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(3, "orders"),
		kfake.BrokerConfigs(map[string]string{retentionConfig: "60"}),
		kfake.Superuser("PLAIN", "admin", "a"), kfake.User("PLAIN", "capture", "c", acls...),
	}
	if source {
		opts = append(opts, kfake.SeedTopics(2, offsetsTopic))
	}
	cluster, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	as := func(user, password string) *kgo.Client {
		client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
		require.NoError(t, err)
		t.Cleanup(client.Close)
		return client
	}
	admin := fakeKafka{cluster, as("admin", "a")}
	admin.commit(t, "billing", "orders", 0, 1, "")
	if source {
		require.NoError(t, admin.client.ProduceSync(within(t),
			&kgo.Record{Topic: offsetsTopic, Partition: 1, Timestamp: time.UnixMilli(1767225600123)}).FirstErr())
	}
	return CheckAccess(within(t), as("capture", "c"), Endpoint{Brokers: cluster.ListenAddrs(), SASL: true})
}

// verdicts are the rights by name: yes, no or unknown.
func verdicts(a *Access) map[RightKey]string {
	all := map[RightKey]string{}
	for _, r := range a.Rights {
		switch {
		case r.OK:
			all[r.Key] = "yes"
		case r.Known:
			all[r.Key] = "no"
		default:
			all[r.Key] = "unknown"
		}
	}
	return all
}

var (
	readSourceACL      = allowed(kmsg.ACLResourceTypeTopic, offsetsTopic, kmsg.ACLOperationRead)
	describeTopicsACL  = allowed(kmsg.ACLResourceTypeTopic, "*", kmsg.ACLOperationDescribe)
	describeGroupsACL  = allowed(kmsg.ACLResourceTypeGroup, "*", kmsg.ACLOperationDescribe)
	describeClusterACL = allowed(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribe)
	describeConfigsACL = allowed(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribeConfigs)
)

// A principal with all rights is captured by tail, and everything about the cluster is known.
func TestAccessWithAllRights(t *testing.T) {
	a := accessOf(t, true, readSourceACL, describeTopicsACL, describeGroupsACL, describeClusterACL, describeConfigsACL)
	require.Equal(t, map[RightKey]string{
		RightReach: "yes", RightDescribeCluster: "yes", RightListGroups: "yes", RightDescribeGroups: "yes",
		RightReadOffsets: "yes", RightDescribeTopics: "yes", RightDescribeConfigs: "yes",
	}, verdicts(a))
	require.Equal(t, ModeTail, a.Mode)
	require.True(t, a.OK())
	require.NotEmpty(t, a.ClusterID)
	require.Equal(t, []int{1, 1}, []int{a.Brokers, a.Groups})
	require.Equal(t, []int{2, 5}, []int{a.Topics, a.Partitions}, "kfake does not call the offsets topic an internal one")
	require.Equal(t, int32(2), a.Source)
	require.Equal(t, ledger.AtMillis(1767225600123), a.Oldest)
	require.Equal(t, time.Hour, a.Retention)
	require.True(t, a.RetentionKnown)
	for _, r := range a.Rights {
		require.Empty(t, r.Mend, r.Key)
	}
}

// Without the right to read the topic there is no capture, whatever else the principal may ask:
// the right that is missing is named, and how to give it.
func TestAccessWithoutTheTopic(t *testing.T) {
	a := accessOf(t, true, describeTopicsACL, describeGroupsACL, describeClusterACL)
	require.Equal(t, map[RightKey]string{
		RightReach: "yes", RightDescribeCluster: "yes", RightListGroups: "yes", RightDescribeGroups: "yes",
		RightReadOffsets: "no", RightDescribeTopics: "yes", RightDescribeConfigs: "no",
	}, verdicts(a))
	require.Equal(t, ModeNone, a.Mode)
	require.Equal(t, "the principal may not read __consumer_offsets", a.Why)
	require.False(t, a.OK())
	for _, r := range a.Rights {
		switch r.Key {
		case RightReadOffsets:
			require.Contains(t, r.Detail, "TOPIC_AUTHORIZATION_FAILED")
			require.Equal(t, "kafka-acls --add --allow-principal User:NAME --operation Read --topic __consumer_offsets", r.Mend)
			require.True(t, r.Needed)
		case RightDescribeConfigs:
			require.Contains(t, r.Detail, "CLUSTER_AUTHORIZATION_FAILED")
			require.Contains(t, r.Mend, "7 days")
		}
	}
	require.False(t, a.RetentionKnown)
}

// With the one right to read the topic, capture has what it needs.
func TestAccessToTheTopicAlone(t *testing.T) {
	a := accessOf(t, true, readSourceACL)
	require.Equal(t, ModeTail, a.Mode)
	require.True(t, a.OK())
	require.Equal(t, "no", verdicts(a)[RightDescribeCluster])
	require.Equal(t, "no", verdicts(a)[RightDescribeGroups])
}

// Without rights there is no way to capture.
func TestAccessWithoutRights(t *testing.T) {
	a := accessOf(t, true)
	require.Equal(t, ModeNone, a.Mode)
	require.False(t, a.OK())
	require.Equal(t, "no", verdicts(a)[RightReadOffsets])
	require.Equal(t, "unknown", verdicts(a)[RightDescribeTopics], "a cluster without topics looks the same")
}

// Before any group has committed there is no topic to read, which speaks for the tail and is
// not held against the principal.
func TestAccessBeforeTheFirstCommit(t *testing.T) {
	a := accessOf(t, false, describeTopicsACL, describeClusterACL, describeGroupsACL)
	require.Equal(t, ModeTail, a.Mode)
	require.Equal(t, "unknown", verdicts(a)[RightReadOffsets])
	require.Contains(t, a.Why, "does not exist yet")
	require.True(t, a.OK())
	require.Zero(t, a.Source)
}

// A cluster that cannot be reached says why, and nothing else is asked.
func TestAccessOutOfReach(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	at := Endpoint{Brokers: cluster.ListenAddrs()}
	cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(at.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	a := CheckAccess(within(t), client, at)
	require.Equal(t, []Right{{
		Key: RightReach, Known: true, Needed: true,
		Detail: "connection refused, nothing listens on the port", Mend: "check host and port, and that the broker runs",
	}}, a.Rights)
	require.Equal(t, ModeNone, a.Mode)
	require.False(t, a.OK())
}

// Capture takes the retention that doctor shows, and Kafka's default where the broker may not
// be asked.
func TestRetentionOfTheTail(t *testing.T) {
	f := startKafka(t, kfake.BrokerConfigs(map[string]string{retentionConfig: "60"}))
	tail := &Tail{client: f.client, admin: kadm.NewClient(f.client)}
	requireRetention := func(want time.Duration) {
		got, err := tail.retention(within(t))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	requireRetention(time.Hour)
	f.ControlKey(int16(kmsg.DescribeConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, resource := range r.(*kmsg.DescribeConfigsRequest).Resources {
			refused := kmsg.NewDescribeConfigsResponseResource()
			refused.ResourceType, refused.ResourceName = resource.ResourceType, resource.ResourceName
			refused.ErrorCode = kerr.ClusterAuthorizationFailed.Code
			resp.Resources = append(resp.Resources, refused)
		}
		return resp, nil, true
	})
	requireRetention(defaultRetention)
}
