package kafka

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// polled is what a poll hands out of one partition, from an offset on.
func polled(partition int32, offset int64, err error) kgo.Fetch {
	p := kgo.FetchPartition{Partition: partition, Err: err}
	if err == nil {
		p.Records = []*kgo.Record{{Partition: partition, Offset: offset}, {Partition: partition, Offset: offset + 1}}
	}
	return kgo.Fetch{Topics: []kgo.FetchTopic{{Topic: offsetsTopic, Partitions: []kgo.FetchPartition{p}}}}
}

// The broker lost records that capture had read. The client goes back by itself, and hands out in
// one poll what it read there and, behind it, that something was lost. The loss is taken first; but
// not before records that were read before it.
func TestALossIsTakenBeforeWhatWasReadAfterIt(t *testing.T) {
	lost := &kgo.ErrDataLoss{Topic: offsetsTopic, Partition: 3, ConsumedTo: 40, ResetTo: 20}
	other := errors.New("not reachable")
	for name, c := range map[string]struct {
		fetches kgo.Fetches
		want    []string
	}{
		"read after it":   {kgo.Fetches{polled(1, 7, nil), polled(3, 20, nil), polled(3, 0, lost)}, []string{"3 lost", "1 from 7", "3 from 20"}},
		"read before it":  {kgo.Fetches{polled(3, 40, nil), polled(3, 0, lost)}, []string{"3 from 40", "3 lost"}},
		"of another":      {kgo.Fetches{polled(1, 7, nil), polled(3, 0, lost)}, []string{"1 from 7", "3 lost"}},
		"another error":   {kgo.Fetches{polled(3, 20, nil), polled(3, 0, other)}, []string{"3 from 20", "3 not reachable"}},
		"alone":           {kgo.Fetches{polled(3, 0, lost)}, []string{"3 lost"}},
		"nothing at all":  {nil, nil},
		"a line not read": {kgo.Fetches{polled(5, 0, nil)}, []string{"5 from 0"}},
	} {
		var got []string
		for _, p := range lossesFirst(c.fetches, func(partition int32) (int64, bool) {
			at, ok := map[int32]int64{1: 7, 3: 40}[partition]
			return at, ok
		}) {
			var loss *kgo.ErrDataLoss
			switch {
			case errors.As(p.Err, &loss):
				got = append(got, fmt.Sprintf("%d lost", p.Partition))
			case p.Err != nil:
				got = append(got, fmt.Sprintf("%d %v", p.Partition, p.Err))
			default:
				got = append(got, fmt.Sprintf("%d from %d", p.Partition, p.Records[0].Offset))
			}
		}
		require.Equal(t, c.want, got, name)
	}
}
