package kafka

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// movingLogs are the logs of a cluster in which every partition is written to at a steady rate
// of its own, from a record in ten seconds to a few thousand. Some topics are written to by
// transactions, and retention takes a segment away now and then.
type movingLogs struct {
	r      *rand.Rand
	topics map[string]ledger.TopicInfo
	rows   []ledger.Watermark
	rate   []float64 // records in ten seconds
}

func newMovingLogs(topics, partitions int) *movingLogs {
	m := &movingLogs{r: rand.New(rand.NewPCG(1, 2)), topics: map[string]ledger.TopicInfo{}}
	for topic := range topics {
		name := fmt.Sprintf("%s.%s.v%d", []string{"orders", "payments", "inventory", "shipping"}[topic%4], []string{"created", "changed", "archived"}[topic%3], topic)
		id := uuid.Must(uuid.NewRandomFromReader(randomBytes{m.r}))
		m.topics[name] = ledger.TopicInfo{TopicID: id, Partitions: int32(partitions)}
		ofTopic := math.Exp(m.r.NormFloat64()*2 + 4) // half of them above 55 records
		ticks := 8640 * (1 + m.r.Float64()*364)      // a day to a year old
		for p := range partitions {
			rate := max(1, ofTopic*(0.7+0.6*m.r.Float64()))
			end := int64(rate * ticks)
			m.rate = append(m.rate, rate)
			m.rows = append(m.rows, ledger.Watermark{Topic: name, Partition: int32(p),
				LogStart: max(0, end-int64(rate*8640*7)), LastStable: end, LogEnd: end})
		}
	}
	return m
}

// tick lets ten seconds pass.
func (m *movingLogs) tick() []ledger.Watermark {
	for i := range m.rows {
		row := &m.rows[i]
		row.LogEnd += 1 + int64(m.r.ExpFloat64()*(m.rate[i]-1))
		row.LastStable = row.LogEnd
		if i/10%20 == 0 {
			row.LastStable -= m.r.Int64N(3)
		}
		if m.r.IntN(360) == 0 && row.LogStart > 0 {
			row.LogStart += int64(m.rate[i] * 360)
		}
	}
	return slices.Clone(m.rows)
}

type randomBytes struct{ *rand.Rand }

func (r randomBytes) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}

// BenchmarkWatermarksOnDisk is what a day of watermarks takes on disk when every one of 10,000
// partitions of 1,000 topics moves in every interval of ten seconds: an hour of it is stored in
// a real ledger, and the blocks that it filled are counted.
func BenchmarkWatermarksOnDisk(b *testing.B) {
	const ticks, goal = 360, 0.3e9
	for b.Loop() {
		ctx, dir := context.Background(), b.TempDir()
		srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
		require.NoError(b, err)
		log, err := stream.Create(ctx, srv.Conn(), stream.Config{})
		require.NoError(b, err)
		client, err := kgo.NewClient()
		require.NoError(b, err)
		logs := newMovingLogs(1000, 10)
		observer, err := NewObserver(ObserverConfig{Client: client, Cluster: "prod", Topics: logs.topics})
		require.NoError(b, err)
		for n := range ticks {
			_, err := log.Append(ctx, observer.watermarkEvents(logs.tick(), nil, ledger.AtTime(tick(n))))
			require.NoError(b, err)
		}
		size, err := log.Size(ctx)
		require.NoError(b, err)
		client.Close()
		require.NoError(b, srv.Close())
		full, filling := blocksIn(b, dir)
		const day = 24 * time.Hour / (ticks * 10 * time.Second)
		uncompressed := float64(size.Bytes) * float64(day)
		perDay := uncompressed * float64(full) / float64(int64(size.Bytes)-filling)
		b.ReportMetric(perDay/1e9, "GB/day")
		b.ReportMetric(perDay/goal, "of_goal_0.3_GB/day")
		b.ReportMetric(uncompressed/1e9, "uncompressed-GB/day")
	}
}

// blocksIn returns how many bytes there are in full blocks of the stream's file, and in the one
// that is being filled, which is not compressed until it is full.
func blocksIn(b *testing.B, dir string) (full, filling int64) {
	last := 0
	require.NoError(b, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".blk" {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		require.NoError(b, err)
		info, err := d.Info()
		require.NoError(b, err)
		if n > last {
			full, filling, last = full+filling, info.Size(), n
		} else {
			full += info.Size()
		}
		return nil
	}))
	return full, filling
}
