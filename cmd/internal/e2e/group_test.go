package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// sent is one committed offset, as a client sent it.
type sent struct {
	Offset   int64
	Metadata string
}

// recorder keeps what was committed to a group, by partition of one topic and in order.
type recorder struct {
	group string
	mu    sync.Mutex
	sent  map[int32][]sent
}

func (rec *recorder) record(partition int32, s sent) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.sent == nil {
		rec.sent = map[int32][]sent{}
	}
	rec.sent[partition] = append(rec.sent[partition], s)
}

// The protocols of a group.
const (
	classicGroup  = "classic"
	consumerGroup = "consumer" // KIP-848
)

// kgoGroup is a group of kgo clients.
type kgoGroup struct {
	recorder
	kind, topic string
	members     []*kgoMember
}

type kgoMember struct {
	client   string // id
	cl       *kgo.Client
	mu       sync.Mutex
	assigned []int32
}

// startGroup starts a group of n members and returns when each has its share of the topic's
// four partitions. The end of the test ends it.
func startGroup(t *testing.T, r *kafkatest.Real, kind, group, topic string, n int) *kgoGroup {
	t.Helper()
	g := &kgoGroup{recorder: recorder{group: group}, kind: kind, topic: topic}
	for i := range n {
		m := &kgoMember{client: fmt.Sprintf("%s-app-%d", kind, i)}
		opts := []kgo.Opt{
			kgo.ClientID(m.client), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.Balancers(kgo.StickyBalancer()),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, now map[string][]int32) { m.take(now[topic]) }),
			kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.drop(gone[topic]) }),
		}
		if kind == consumerGroup {
			opts = append(opts, kgo.ServerSideBalancer())
		}
		cl, err := kgo.NewClient(r.Options(opts...)...)
		require.NoError(t, err)
		t.Cleanup(cl.Close)
		m.cl = cl
		g.members = append(g.members, m)
	}
	require.Eventually(t, func() bool {
		for _, m := range g.members {
			if len(m.partitions()) != 4/n {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond, "the %s group does not come to rest", kind)
	return g
}

func (m *kgoMember) take(partitions []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.assigned = append(m.assigned, partitions...)
}

func (m *kgoMember) drop(partitions []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.assigned = slices.DeleteFunc(m.assigned, func(p int32) bool { return slices.Contains(partitions, p) })
}

func (m *kgoMember) partitions() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.assigned)
}

func (m *kgoMember) id() string {
	id, _ := m.cl.GroupMetadata()
	return id
}

// clientOf is the client id of a member.
func (g *kgoGroup) clientOf(memberID string) (string, bool) {
	for _, m := range g.members {
		if m.id() == memberID {
			return m.client, true
		}
	}
	return "", false
}

// commitAtOnce has every member of every group commit n times, all at the same time: forward,
// and at the end once back. Every third commit has metadata of its own, the others have kgo's.
func commitAtOnce(t *testing.T, n int, groups ...*kgoGroup) {
	t.Helper()
	ctx := bounded(t)
	work, ctx := errgroup.WithContext(ctx)
	for _, g := range groups {
		for _, m := range g.members {
			work.Go(func() error {
				for i := range n {
					offset, metadata := int64(3*i), ""
					if i == n-1 {
						offset = 1
					}
					if i%3 == 2 {
						metadata = fmt.Sprintf("commit %d of %s", i, m.client)
					}
					if err := g.commit(ctx, m, offset, metadata); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, work.Wait())
}

// commit commits one offset to all partitions of a member in one request, and records what
// went over the wire. A member whose epoch has just moved on tries again.
func (g *kgoGroup) commit(ctx context.Context, m *kgoMember, offset int64, metadata string) error {
	offsets := map[int32]kgo.EpochOffset{}
	for _, p := range m.partitions() {
		offsets[p] = kgo.EpochOffset{Epoch: 0, Offset: offset + int64(p)}
	}
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics[0].Partitions {
			if metadata != "" {
				req.Topics[0].Partitions[i].Metadata = &metadata
			}
		}
		return nil
	})
	for {
		var failed error
		m.cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{g.topic: offsets},
			func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
				if failed = err; err == nil {
					failed = g.done(req, resp)
				}
			})
		if failed != kerr.StaleMemberEpoch { //nolint:errorlint // codes are compared as they are
			return failed
		}
	}
}

// done records the partitions of a request that the broker has stored.
func (g *kgoGroup) done(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) error {
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	for _, topic := range req.Topics {
		for _, p := range topic.Partitions {
			g.record(p.Partition, sent{p.Offset, *p.Metadata})
		}
	}
	return nil
}

// checkListed checks that the group is listed and described as it stands.
func (g *kgoGroup) checkListed(d *daemon) {
	d.t.Helper()
	requireListed(d.t, d, g.group, api.GroupRow{State: "Stable", Type: g.kind, Members: len(g.members), Partitions: 4})
	described := answer[api.Group](d, "group", "describe", g.group)
	want := map[string]string{}
	for _, m := range g.members {
		want[m.id()] = m.client
	}
	got := map[string]string{}
	for _, m := range described.MemberRows {
		got[string(m.MemberID)] = string(m.ClientID)
		require.Equal(d.t, api.Text("/127.0.0.1"), m.Host)
	}
	require.Equal(d.t, want, got)
	for _, m := range g.members {
		for _, p := range m.partitions() {
			row := described.Rows[p]
			require.Equal(d.t, p, row.Partition)
			require.NotNil(d.t, row.ClientID, "%s: nobody is shown for partition %d", g.group, p)
			require.Equal(d.t, api.Text(m.client), *row.ClientID)
			require.Equal(d.t, int32(0), *row.LeaderEpoch)
			require.Equal(d.t, 1+int64(p), *row.CommittedOffset)
		}
	}
}
