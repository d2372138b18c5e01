package ledger

import (
	"encoding/json"
	"strconv"
	"time"
)

// MarshalJSON writes RFC 3339 in UTC with milliseconds, a bare number of milliseconds outside
// the calendar, null when unknown.
func (t Time) MarshalJSON() ([]byte, error) {
	if _, ok := t.Std(); ok {
		return []byte(`"` + t.String() + `"`), nil
	}
	if ms, ok := t.Millis(); ok {
		return strconv.AppendInt(nil, ms, 10), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = Time{}
		return nil
	}
	if ms, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*t = AtMillis(ms)
		return nil
	}
	var std time.Time
	if err := json.Unmarshal(b, &std); err != nil {
		return err
	}
	*t = AtTime(std)
	return nil
}

// MarshalJSON writes the number of the epoch, null when unknown.
func (e Epoch) MarshalJSON() ([]byte, error) {
	if n, ok := e.Get(); ok {
		return strconv.AppendInt(nil, int64(n), 10), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Epoch) UnmarshalJSON(b []byte) error {
	var n *int32
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*e = Epoch{}
	if n != nil {
		*e = EpochOf(*n)
	}
	return nil
}
