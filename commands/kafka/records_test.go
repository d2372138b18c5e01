package kafka

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// realRecord is a record of __consumer_offsets as a real broker wrote it.
type realRecord struct {
	Key, Value    []byte
	Partition     int32
	Offset        int64
	LeaderEpoch   int32 `json:"leader_epoch"`
	Timestamp     int64
	ProducerID    int64 `json:"producer_id"`
	Transactional bool
	Control       bool
}

// realRecords reads what a scripted run left in __consumer_offsets of a broker of that
// version, control records included.
func realRecords(t testing.TB, version string) []realRecord {
	f, err := os.Open(filepath.Join("testdata", "consumer-offsets-kafka-"+version+".jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var all []realRecord
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r realRecord
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		all = append(all, r)
	}
	require.NoError(t, lines.Err())
	return all
}
