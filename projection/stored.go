package projection

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/offsetledger/offsetledger/ledger"
)

// stored is an offset with all that names it: keys can hold cut names, so that the whole ones
// stand in the value.
type stored struct {
	cluster, group string
	tp             ledger.TopicPartition
	info           OffsetInfo
}

// storedJSON is how a BackendStore writes an offset. Fields may be added; none changes its
// meaning.
type storedJSON struct {
	Cluster       anyText `json:"cluster"`
	Group         anyText `json:"group"`
	Topic         anyText `json:"topic"`
	Partition     int32   `json:"partition"`
	Offset        *int64  `json:"offset"`
	LeaderEpoch   *int32  `json:"leader_epoch"`
	HighWatermark *int64  `json:"high_watermark"`
	Metadata      anyText `json:"metadata"`
	LastUpdated   *int64  `json:"last_updated_ms"` // milliseconds since the Unix epoch
}

func encodeStored(v stored) []byte {
	out := storedJSON{
		Cluster: anyText(v.cluster), Group: anyText(v.group), Topic: anyText(v.tp.Topic), Partition: v.tp.Partition,
		Offset: &v.info.Offset, Metadata: anyText(v.info.Metadata),
	}
	if epoch, ok := v.info.LeaderEpoch.Get(); ok {
		out.LeaderEpoch = &epoch
	}
	if v.info.HighWatermark.Exists {
		out.HighWatermark = &v.info.HighWatermark.At
	}
	if ms, ok := v.info.LastUpdated.Millis(); ok {
		out.LastUpdated = &ms
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // numbers and valid strings
	}
	return b
}

// decodeStored is the inverse of encodeStored. It fails with [ledger.ErrDamaged].
func decodeStored(b []byte) (stored, error) {
	var in storedJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return stored{}, &ledger.DamagedError{Field: "stored offset", Detail: err.Error()}
	}
	if in.Offset == nil {
		return stored{}, &ledger.DamagedError{Field: "stored offset", Detail: "it has no offset"}
	}
	v := stored{
		cluster: string(in.Cluster), group: string(in.Group),
		tp:   ledger.TopicPartition{Topic: string(in.Topic), Partition: in.Partition},
		info: OffsetInfo{Offset: *in.Offset, Metadata: string(in.Metadata)},
	}
	if in.LeaderEpoch != nil {
		v.info.LeaderEpoch = ledger.EpochOf(*in.LeaderEpoch)
	}
	if in.HighWatermark != nil {
		v.info.HighWatermark = Value{At: *in.HighWatermark, Exists: true}
	}
	if in.LastUpdated != nil {
		v.info.LastUpdated = ledger.AtMillis(*in.LastUpdated)
	}
	return v, nil
}

// anyText is any bytes in JSON. Those that are not UTF-8, which JSON cannot hold, and those
// that start with a quotation mark are spelled as a quoted string of Go: "a\xff".
type anyText string

// MarshalJSON writes t.
func (t anyText) MarshalJSON() ([]byte, error) {
	s := string(t)
	if strings.HasPrefix(s, `"`) || !utf8.ValidString(s) {
		s = strconv.Quote(s)
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *anyText) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if strings.HasPrefix(s, `"`) {
		raw, err := strconv.Unquote(s)
		if err != nil {
			return err
		}
		s = raw
	}
	*t = anyText(s)
	return nil
}
