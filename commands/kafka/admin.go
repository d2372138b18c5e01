package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Admin asks a Kafka cluster what groups and topics are at this moment, and writes the committed
// offsets of groups that nobody is in. It writes through the group's coordinator and in no other
// way, so that the broker refuses what must not be: offsets of a group that has members.
//
// Its methods can be called at the same time. None of them reads the ledger.
type Admin struct{ client *kgo.Client }

// NewAdmin returns an Admin that asks through a client, which stays the caller's.
func NewAdmin(client *kgo.Client) *Admin { return &Admin{client: client} }

// ClusterID is the id of the cluster, as its brokers report it; empty if they report none.
func (a *Admin) ClusterID(ctx context.Context) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return "", fmt.Errorf("ask for the cluster's id: %w", err)
	}
	return orEmpty(resp.ClusterID), nil
}

const retentionKey = "offsets.retention.minutes"

// Retention is for how long the brokers keep the offsets of a group without members. It is false
// if they do not tell: that needs the right to describe the cluster's configuration.
func (a *Admin) Retention(ctx context.Context) (time.Duration, bool) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	meta, err := req.RequestWith(ctx, a.client)
	if err != nil || len(meta.Brokers) == 0 {
		return 0, false
	}
	ask := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeBroker
	resource.ResourceName = strconv.Itoa(int(meta.Brokers[0].NodeID))
	resource.ConfigNames = []string{retentionKey}
	ask.Resources = append(ask.Resources, resource)
	resp, err := ask.RequestWith(ctx, a.client)
	if err != nil {
		return 0, false
	}
	for i := range resp.Resources {
		for _, c := range resp.Resources[i].Configs {
			if c.Name != retentionKey || c.Value == nil {
				continue
			}
			if minutes, err := strconv.ParseInt(*c.Value, 10, 32); err == nil && minutes > 0 {
				return time.Duration(minutes) * time.Minute, true
			}
		}
	}
	return 0, false
}

// answerOf is the part of a request that one broker answered, and what it answered: nil and the
// error if it did not.
func answerOf[Req, Resp any](shard kgo.ResponseShard) (req Req, resp Resp, err error) {
	req, _ = shard.Req.(Req)
	if shard.Err != nil {
		return req, resp, shard.Err
	}
	resp, ok := shard.Resp.(Resp)
	if !ok {
		return req, resp, errors.New("the broker answered something else")
	}
	return req, resp, nil
}

// brokerError is the error of a code, with what the broker said beside it.
func brokerError(code int16, said *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil || orEmpty(said) == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, *said)
}
