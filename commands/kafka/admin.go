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

// Retention is for how long the brokers keep the offsets of a group without members. It is false
// if they do not tell: that needs the right to describe the cluster's configuration.
func (a *Admin) Retention(ctx context.Context) (time.Duration, bool) {
	period, err := clusterRetention(ctx, kadm.NewClient(a.client))
	return period, err == nil
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
