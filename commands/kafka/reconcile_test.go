package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// commit commits an offset as an admin tool does.
func (f fakeKafka) commit(t testing.TB, group, topic string, partition int32, at int64, metadata string) {
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: partition, At: at, LeaderEpoch: -1, Metadata: metadata})
	require.NoError(t, kadm.NewClient(f.client).CommitAllOffsets(within(t), group, offsets))
}

// The answers are what clients read now: a value, or none, for each key in its place.
func TestReread(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(3, "orders", "refunds"))
	f.commit(t, "billing", "orders", 0, 40, "m")
	f.commit(t, "billing", "refunds", 2, 0, "r")
	f.commit(t, "search", "orders", 1, 7, "s")
	since := ledger.AtMillis(1000)
	keys := []OffsetKey{
		{Group: "search", Topic: "orders", Partition: 1},
		{Group: "billing", Topic: "orders", Partition: 0, NotBefore: since},
		{Group: "billing", Topic: "orders", Partition: 1, NotBefore: since},
		{Group: "billing", Topic: "refunds", Partition: 2, NotBefore: since},
	}
	answers := Reread(within(t), f.client, keys)
	for i := range answers {
		require.NoError(t, answers[i].Err)
		require.Equal(t, keys[i], answers[i].OffsetKey)
		if answers[i].Exists {
			require.NotZero(t, answers[i].Row.TopicID)
			answers[i].Row.TopicID = [16]byte{}
		}
	}
	require.True(t, answers[0].Exists)
	require.Equal(t, ledger.Offset{Topic: "orders", Partition: 1, At: 7, Metadata: "s"}, answers[0].Row)
	require.False(t, answers[2].Exists)

	now := ledger.AtMillis(5000)
	source := ledger.Source{Kind: ledger.SourceReconcile}
	require.Equal(t, []ledger.Event{
		{Kind: ledger.KindCommitted, Cluster: "c", Group: "search", Time: now, Source: source,
			Offsets: []ledger.Offset{{Topic: "orders", Partition: 1, At: 7, Metadata: "s", Effective: now}}},
		{Kind: ledger.KindCommitted, Cluster: "c", Group: "billing", Time: now, NotBefore: since, Source: source,
			Offsets: []ledger.Offset{{Topic: "orders", At: 40, Metadata: "m", Effective: now}, {Topic: "refunds", Partition: 2, Metadata: "r", Effective: now}}},
		{Kind: ledger.KindDeleted, Cluster: "c", Group: "billing", Time: now, NotBefore: since, Source: source,
			Offsets: []ledger.Offset{{Topic: "orders", Partition: 1, Effective: now}}},
	}, RereadEvents("c", answers, now))
}

// A refused group, a partition with an error, one whose transaction is undecided, one that
// the answer leaves out: none of them says that an offset is gone.
func TestCAP10AnErrorOrShortAnswerIsNoDeletion(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(6, "orders"))
	f.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		return scriptedOffsets(r.(*kmsg.OffsetFetchRequest)), nil, true
	})
	keys := []OffsetKey{{Group: "refused", Topic: "orders"}, {Group: "refused", Topic: "orders", Partition: 1}}
	for p := range int32(6) {
		keys = append(keys, OffsetKey{Group: "g", Topic: "orders", Partition: p})
	}
	answers := Reread(within(t), f.client, keys)
	for i, want := range []error{
		kerr.GroupAuthorizationFailed, kerr.GroupAuthorizationFailed,
		nil, kerr.TopicAuthorizationFailed, kerr.UnstableOffsetCommit, nil, errOffsetOmitted, errNegativeOffset,
	} {
		require.ErrorIs(t, answers[i].Err, want, "%v", keys[i])
		require.Equal(t, i == 2, answers[i].Exists, "%v", keys[i])
	}

	events := RereadEvents("c", answers, ledger.AtMillis(5000))
	require.Len(t, events, 2)
	requireValid(t, events)
	require.Equal(t, ledger.KindCommitted, events[0].Kind)
	require.Equal(t, int64(11), events[0].Offsets[0].At)
	require.Equal(t, ledger.KindDeleted, events[1].Kind)
	require.Equal(t, ledger.CauseUnknown, events[1].Cause)
	require.Equal(t, []ledger.Offset{{Topic: "orders", Partition: 3, Effective: ledger.AtMillis(5000)}}, events[1].Offsets, "only -1 without an error")
}

// scriptedOffsets refuses the group "refused" and answers for six partitions of other groups:
// 11, an error, an error with -1, -1, nothing, -1001.
func scriptedOffsets(req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	for _, g := range req.Groups {
		rg := kmsg.NewOffsetFetchResponseGroup()
		rg.Group = g.Group
		if g.Group == "refused" {
			rg.ErrorCode = kerr.GroupAuthorizationFailed.Code
			resp.Groups = append(resp.Groups, rg)
			continue
		}
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = g.Topics[0].Topic, g.Topics[0].TopicID
		for p, answer := range []struct {
			at  int64
			err int16
		}{{at: 11}, {at: -1, err: kerr.TopicAuthorizationFailed.Code}, {at: -1, err: kerr.UnstableOffsetCommit.Code}, {at: -1}} {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.ErrorCode = int32(p), answer.at, answer.err
			rt.Partitions = append(rt.Partitions, rp)
		}
		last := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		last.Partition, last.Offset = 5, -1001
		rt.Partitions = append(rt.Partitions, last)
		rg.Topics = append(rg.Topics, rt)
		resp.Groups = append(resp.Groups, rg)
	}
	return resp
}

// Brokers that are away answer nothing, which is an error of every key.
func TestRereadWithoutBrokers(t *testing.T) {
	f := startKafka(t)
	f.Close()
	answers := Reread(timedOut(t), f.client, []OffsetKey{{Group: "g", Topic: "orders"}})
	require.Error(t, answers[0].Err)
	require.Empty(t, RereadEvents("c", answers, ledger.AtMillis(5000)))
}

// Many groups share a request, and no request is larger than a coordinator would like.
func TestRereadPacksRequests(t *testing.T) {
	r := rereading{groups: map[string][]int{}}
	for g := range 1200 {
		name := string([]byte{byte('a' + g/1000), byte('0' + g/100%10), byte('0' + g/10%10), byte('0' + g%10)})
		for p := range int32(10) {
			r.groups[name] = append(r.groups[name], len(r.answers))
			r.answers = append(r.answers, OffsetAnswer{OffsetKey: OffsetKey{Group: name, Topic: "t", Partition: p}})
		}
	}
	var groups, rows []int
	for _, req := range r.requests() {
		n := 0
		for _, g := range req.Groups {
			n += len(g.Topics[0].Partitions)
		}
		groups, rows = append(groups, len(req.Groups)), append(rows, n)
	}
	require.Equal(t, []int{500, 500, 200}, groups)
	require.Equal(t, []int{5000, 5000, 2000}, rows)
}
