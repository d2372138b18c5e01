package kafka

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// GroupNow is what a coordinator says of a group at this moment.
type GroupNow struct {
	Name    string
	Exists  bool
	State   string // in Kafka's words; Dead of a group that does not exist
	Type    ledger.GroupType
	Members []ledger.Member
	Err     error // why the group could not be asked; then nothing else is known
}

// stateDead is the state of a group that does not exist.
const stateDead = "Dead"

// errGroupOmitted says that no answer held a group that was asked for.
var errGroupOmitted = errors.New("the coordinator's answer leaves the group out")

// Groups asks what groups are, and who is in them. Each protocol has a request of its own, and
// a group is of one of them: those that are not classic are asked for as the next kind. The
// answers are in the order of names.
func (a *Admin) Groups(ctx context.Context, names []string) []GroupNow {
	found := map[string]GroupNow{}
	left := names
	for _, describe := range []func(context.Context, []string, map[string]GroupNow){
		a.describeClassic, a.describeConsumer, a.describeShare, a.describeStreams,
	} {
		if len(left) == 0 {
			break
		}
		describe(ctx, left, found)
		left = slices.DeleteFunc(slices.Clone(left), func(name string) bool {
			g := found[name]
			return g.Exists || g.Err != nil
		})
	}
	out := make([]GroupNow, len(names))
	for i, name := range names {
		g, ok := found[name]
		if !ok {
			g = GroupNow{Err: errGroupOmitted}
		}
		g.Name = name
		if !g.Exists && g.Err == nil {
			g.State, g.Type, g.Members = stateDead, ledger.GroupTypeUnknown, nil
		}
		out[i] = g
	}
	return out
}

func (a *Admin) describeClassic(ctx context.Context, names []string, found map[string]GroupNow) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = names
	for _, shard := range a.client.RequestSharded(ctx, req) {
		asked, resp, err := answerOf[*kmsg.DescribeGroupsRequest, *kmsg.DescribeGroupsResponse](shard)
		if err != nil {
			for _, name := range asked.Groups {
				found[name] = GroupNow{Err: err}
			}
			continue
		}
		for i := range resp.Groups {
			found[resp.Groups[i].Group] = classicGroup(&resp.Groups[i])
		}
	}
}

// classicGroup reads an answer. One that newer brokers give for a group of another protocol is
// that there is none.
func classicGroup(g *kmsg.DescribeGroupsResponseGroup) GroupNow {
	err := kerr.ErrorForCode(g.ErrorCode)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return GroupNow{}
	case err != nil:
		return GroupNow{Err: err}
	case g.State == stateDead:
		return GroupNow{}
	}
	out := GroupNow{Exists: true, State: g.State, Type: ledger.GroupTypeClassic}
	for i := range g.Members {
		m := &g.Members[i]
		out.Members = append(out.Members, ledger.Member{
			ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost,
			Subscriptions: readSubscription(m.ProtocolMetadata), Assigned: readAssignment(m.MemberAssignment),
		})
	}
	return out
}

func (a *Admin) describeConsumer(ctx context.Context, names []string, found map[string]GroupNow) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = names
	for _, shard := range a.client.RequestSharded(ctx, req) {
		asked, resp, err := answerOf[*kmsg.ConsumerGroupDescribeRequest, *kmsg.ConsumerGroupDescribeResponse](shard)
		if err != nil {
			failed(ctx, err, asked.Groups, found)
			continue
		}
		for i := range resp.Groups {
			g := &resp.Groups[i]
			now, ok := otherGroup(g.ErrorCode, g.ErrorMessage, g.State, ledger.GroupTypeConsumer)
			if !ok {
				continue
			}
			for j := range g.Members {
				m := &g.Members[j]
				member := ledger.Member{ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost, Subscriptions: m.SubscribedTopics}
				for _, t := range m.Assignment.TopicPartitions {
					member.Assigned = append(member.Assigned, ledger.TopicPartitions{Topic: t.Topic, TopicID: uuid.UUID(t.TopicID), Partitions: t.Partitions})
				}
				now.Members = append(now.Members, member)
			}
			found[g.Group] = now
		}
	}
}

func (a *Admin) describeShare(ctx context.Context, names []string, found map[string]GroupNow) {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = names
	for _, shard := range a.client.RequestSharded(ctx, req) {
		asked, resp, err := answerOf[*kmsg.ShareGroupDescribeRequest, *kmsg.ShareGroupDescribeResponse](shard)
		if err != nil {
			failed(ctx, err, asked.GroupIDs, found)
			continue
		}
		for i := range resp.Groups {
			g := &resp.Groups[i]
			now, ok := otherGroup(g.ErrorCode, g.ErrorMessage, g.GroupState, ledger.GroupTypeShare)
			if !ok {
				continue
			}
			for j := range g.Members {
				m := &g.Members[j]
				now.Members = append(now.Members, ledger.Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost})
			}
			found[g.GroupID] = now
		}
	}
}

// describeStreams asks each coordinator by itself, since the client does not know where this
// request goes.
func (a *Admin) describeStreams(ctx context.Context, names []string, found map[string]GroupNow) {
	for node, groups := range a.coordinators(ctx, names, found) {
		req := kmsg.NewPtrStreamsGroupDescribeRequest()
		req.Groups = groups
		answer, err := a.client.Broker(int(node)).RetriableRequest(ctx, req)
		resp, ok := answer.(*kmsg.StreamsGroupDescribeResponse)
		if err != nil || !ok {
			failed(ctx, err, groups, found)
			continue
		}
		for i := range resp.Groups {
			g := &resp.Groups[i]
			now, ok := otherGroup(g.ErrorCode, g.ErrorMessage, g.State, ledger.GroupTypeStreams)
			if !ok {
				continue
			}
			for j := range g.Members {
				m := &g.Members[j]
				now.Members = append(now.Members, ledger.Member{ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost})
			}
			found[g.Group] = now
		}
	}
}

// coordinators are the brokers that keep groups.
func (a *Admin) coordinators(ctx context.Context, names []string, found map[string]GroupNow) map[int32][]string {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = names
	out := map[int32][]string{}
	for _, shard := range a.client.RequestSharded(ctx, req) {
		_, resp, err := answerOf[*kmsg.FindCoordinatorRequest, *kmsg.FindCoordinatorResponse](shard)
		if err != nil {
			failed(ctx, err, names, found)
			continue
		}
		for _, c := range resp.Coordinators {
			if c.ErrorCode == 0 {
				out[c.NodeID] = append(out[c.NodeID], c.Key)
			}
		}
	}
	return out
}

// failed notes why groups could not be asked about a newer protocol. Brokers that do not know
// the request have no group of it, which is no failure.
func failed(ctx context.Context, err error, names []string, found map[string]GroupNow) {
	if err == nil || ctx.Err() == nil && !kgo.IsRetryableBrokerErr(err) {
		return
	}
	for _, name := range names {
		found[name] = GroupNow{Err: err}
	}
}

// otherGroup reads what the describing requests of newer protocols have in common. It is false
// for a group that is not of the protocol.
func otherGroup(code int16, said *string, state string, typ ledger.GroupType) (GroupNow, bool) {
	err := brokerError(code, said)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound), errors.Is(err, kerr.UnsupportedVersion):
		return GroupNow{}, false
	case err != nil:
		return GroupNow{Err: err}, true
	}
	return GroupNow{Exists: state != stateDead, State: state, Type: typ}, true
}
