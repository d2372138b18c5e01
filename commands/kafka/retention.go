package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// defaultRetention is Kafka's own default of offsets.retention.minutes.
const defaultRetention = 7 * 24 * time.Hour

// retention returns the period after which brokers let offsets expire. A capture that may not
// ask for it takes Kafka's default; one that gets no answer in time has not begun.
func (t *Tail) retention(ctx context.Context) (time.Duration, error) {
	if t.cfg.Retention > 0 {
		return t.cfg.Retention, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	period, err := clusterRetention(ctx, t.admin)
	switch {
	case isContextError(err):
		return 0, fmt.Errorf("ask how long offsets are kept: %w", err)
	case err != nil:
		return defaultRetention, nil
	}
	return period, nil
}

// clusterRetention asks whichever broker comes first how long offsets are kept.
func clusterRetention(ctx context.Context, admin *kadm.Client) (time.Duration, error) {
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return 0, err
	}
	return askRetention(ctx, admin, brokers.NodeIDs())
}

const retentionConfig = "offsets.retention.minutes"

// askRetention asks one broker how long offsets are kept.
func askRetention(ctx context.Context, admin *kadm.Client, brokers []int32) (time.Duration, error) {
	if len(brokers) == 0 {
		return 0, errors.New("no brokers to ask")
	}
	configs, err := admin.DescribeBrokerConfigs(ctx, brokers[0])
	if err != nil {
		return 0, err
	}
	for _, resource := range configs {
		if resource.Err != nil {
			return 0, resource.Err
		}
		for _, c := range resource.Configs {
			if d, ok := parseMinutes(c.Value); ok && c.Key == retentionConfig {
				return d, nil
			}
		}
	}
	return 0, fmt.Errorf("the broker does not tell %s", retentionConfig)
}

// parseMinutes reads a broker setting in minutes.
func parseMinutes(value *string) (time.Duration, bool) {
	if value == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(*value, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/int64(time.Minute) {
		return 0, false
	}
	return time.Duration(n) * time.Minute, true
}
