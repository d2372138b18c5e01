package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// Mode is a way to capture a cluster.
type Mode string

// The modes.
const (
	ModeTail Mode = "tail" // reading __consumer_offsets: every commit
	ModeNone Mode = "none" // there is no way: a right that is Needed is not there
)

// RightKey tells programs which right is meant.
type RightKey string

// The rights, in the order in which they are looked at.
const (
	RightReach           RightKey = "reach"
	RightDescribeCluster RightKey = "describe-cluster"
	RightListGroups      RightKey = "list-groups"
	RightDescribeGroups  RightKey = "describe-groups"
	RightReadOffsets     RightKey = "read-offsets"
	RightDescribeTopics  RightKey = "describe-topics"
	RightDescribeConfigs RightKey = "describe-configs"
)

var rightNames = map[RightKey]string{
	RightReach: "reach the cluster", RightDescribeCluster: "describe the cluster", RightListGroups: "list groups",
	RightDescribeGroups: "describe groups", RightReadOffsets: "read " + offsetsTopic, RightDescribeTopics: "describe topics",
	RightDescribeConfigs: "describe broker configuration",
}

// String is how people are told of the right.
func (k RightKey) String() string { return rightNames[k] }

// Right is one thing that capture wants to do, and whether this principal may.
type Right struct {
	Key RightKey
	// Known is false if it could not be found out; OK is false as well then.
	Known, OK bool
	Needed    bool   // capture cannot do without it
	Detail    string // what was found
	Mend      string // what to change when it is not OK
}

// Access is what a principal may do with a cluster, and what was seen of it.
type Access struct {
	Rights []Right
	Mode   Mode   // how capture would go about it
	Why    string // the reason of Mode

	ClusterID  string // as Kafka calls the cluster
	Brokers    int
	Groups     int   // that the principal may see
	Topics     int   // likewise, internal ones aside
	Partitions int   // of those topics
	Source     int32 // partitions of __consumer_offsets; 0 while it does not exist
	// Oldest is the timestamp of the oldest record in __consumer_offsets.
	Oldest ledger.Time
	// Retention is how long brokers keep the offsets of an empty group. It is only known if
	// RetentionKnown.
	Retention      time.Duration
	RetentionKnown bool
}

// OK reports whether the cluster can be captured: everything that is needed is allowed.
func (a *Access) OK() bool { return a.Mode != ModeNone }

// CheckAccess asks the cluster for everything that capture may want to ask for, one thing
// after the other, and changes nothing. at is how the client was told to reach it. When the
// cluster cannot be reached, that is the only right in the answer.
func CheckAccess(ctx context.Context, client *kgo.Client, at Endpoint) *Access {
	c := accessCheck{client: client, admin: kadm.NewClient(client), at: at, Access: &Access{Mode: ModeNone}}
	if !c.reach(ctx) {
		c.Why = "the cluster cannot be reached"
		return c.Access
	}
	c.describeCluster(ctx)
	c.listGroups(ctx)
	c.describeGroups(ctx)
	c.readOffsets(ctx)
	c.describeTopics(ctx)
	c.describeConfigs(ctx)
	c.choose()
	return c.Access
}

// accessCheck is the state of one CheckAccess.
type accessCheck struct {
	*Access
	client  *kgo.Client
	admin   *kadm.Client
	at      Endpoint
	brokers []int32
	group   string // one that exists, to ask about
	missing bool   // __consumer_offsets does not exist yet
}

// allow is the stock command that grants a right.
func allow(operation, resource string) string {
	return "kafka-acls --add --allow-principal User:NAME --operation " + operation + " " + resource
}

// record adds a right. An error that is no refusal leaves it unknown.
func (c *accessCheck) record(key RightKey, err error, detail, mend string) bool {
	r := Right{Key: key, Known: true, OK: err == nil, Detail: detail}
	if err != nil {
		r.Known, r.Detail = refused(err), err.Error()
		if r.Known {
			r.Mend = mend
		}
	}
	c.Rights = append(c.Rights, r)
	return r.OK
}

// refused reports whether err says that the principal may not do what it asked for.
func refused(err error) bool {
	return errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.TopicAuthorizationFailed) ||
		errors.Is(err, kerr.GroupAuthorizationFailed)
}

func (c *accessCheck) reach(ctx context.Context) bool {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	meta, err := askMetadata(asking, c.client, []string{})
	if err != nil {
		err = ExplainError(ctx, err, c.at)
		var explained *AccessError
		right := Right{Key: RightReach, Known: true, Needed: true, Detail: err.Error()}
		if errors.As(err, &explained) {
			right.Detail, right.Mend = explained.Problem, explained.Mend
		}
		c.Rights = append(c.Rights, right)
		return false
	}
	c.ClusterID, c.Brokers = orEmpty(meta.ClusterID), len(meta.Brokers)
	for _, b := range meta.Brokers {
		c.brokers = append(c.brokers, b.NodeID)
	}
	return c.record(RightReach, nil, fmt.Sprintf("Kafka cluster %s, %s", c.ClusterID, brokersText(c.Brokers)), "")
}

// describeCluster looks for DESCRIBE among what the broker says that the principal may do.
func (c *accessCheck) describeCluster(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeClusterAuthorizedOperations = true
	resp, err := req.RequestWith(asking, c.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil && resp.ClusterAuthorizedOperations&(1<<kmsg.ACLOperationDescribe) == 0 {
		err = kerr.ClusterAuthorizationFailed
	}
	c.record(RightDescribeCluster, err, "all groups can be seen", allow("Describe", "--cluster")+
		" (without it only the groups are seen that the principal may describe)")
}

func (c *accessCheck) listGroups(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	groups, err := c.admin.ListGroups(asking)
	c.Groups = len(groups)
	if names := groups.Groups(); len(names) > 0 {
		c.group = names[0]
	}
	c.record(RightListGroups, err, ledger.Count(len(groups), "group"), allow("Describe", "--cluster"))
}

// unknownGroup is asked about where no group is there. No answer about it but a refusal says
// that the principal may not ask.
const unknownGroup = "offsetledger-check-of-rights"

func (c *accessCheck) describeGroups(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	group, detail := c.group, ""
	if group == "" {
		group, detail = unknownGroup, "asked about a group that does not exist, since none does"
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(asking, c.client)
	if err == nil && len(resp.Groups) > 0 {
		if err = kerr.ErrorForCode(resp.Groups[0].ErrorCode); errors.Is(err, kerr.GroupIDNotFound) {
			err = nil
		}
	}
	c.record(RightDescribeGroups, err, detail, allow("Describe", "--group '*'"))
}

func (c *accessCheck) describeTopics(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	meta, err := askMetadata(asking, c.client, nil)
	if err == nil {
		for _, t := range meta.Topics {
			if t.ErrorCode == 0 && !t.IsInternal {
				c.Topics++
				c.Partitions += len(t.Partitions)
			}
		}
	}
	if err == nil && c.Topics == 0 {
		c.Rights = append(c.Rights, Right{
			Key: RightDescribeTopics, Mend: allow("Describe", "--topic '*'"),
			Detail: "no topic is seen: there is none, or the principal may describe none",
		})
		return
	}
	c.record(RightDescribeTopics, err, ledger.Count(c.Topics, "topic")+", "+ledger.Count(c.Partitions, "partition"), allow("Describe", "--topic '*'"))
}

func (c *accessCheck) describeConfigs(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var err error
	c.Retention, err = askRetention(asking, c.admin, c.brokers)
	c.RetentionKnown = err == nil
	c.record(RightDescribeConfigs, err, fmt.Sprintf("%s is %d", retentionConfig, int64(c.Retention/time.Minute)),
		allow("DescribeConfigs", "--cluster")+" (without it Kafka's default of 7 days is assumed)")
}

// choose decides whether capture can be. All that it cannot do without is the topic, once that
// is there: what the other rights tell is asked for beside it.
func (c *accessCheck) choose() {
	c.Right(RightReach).Needed = true
	read := c.Right(RightReadOffsets)
	read.Needed = !c.missing
	switch {
	case read.OK:
		c.Mode, c.Why = ModeTail, "the principal may read "+offsetsTopic
	case c.missing:
		c.Mode, c.Why = ModeTail, offsetsTopic+" does not exist yet: Kafka makes it when the first group commits"
	case read.Known:
		c.Why = "the principal may not read " + offsetsTopic
	default:
		c.Why = "it cannot be found out whether the principal may read " + offsetsTopic
	}
}

// Right returns what was found of a right, nil if it was not asked for.
func (a *Access) Right(key RightKey) *Right {
	for i := range a.Rights {
		if a.Rights[i].Key == key {
			return &a.Rights[i]
		}
	}
	return nil
}

func brokersText(n int) string {
	if n == 1 {
		return "1 broker"
	}
	return ledger.Count(n, "broker")
}
