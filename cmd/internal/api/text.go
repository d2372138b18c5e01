package api

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Text is a name or free text as Kafka stored it: any bytes. [Spell] and [ParseText] are how
// it is shown and accepted, in JSON, in query parameters and on the command line alike.
type Text = ledger.Text

// Spell returns s as it is shown: see [ledger.Spell].
func Spell(s string) string { return ledger.Spell(s) }

// Shown is [Spell] for a sentence or a table, where the empty text has to be seen.
func Shown(s string) string {
	if s == "" {
		return `""`
	}
	return Spell(s)
}

// ParseText is the inverse of [Spell].
func ParseText(s string) (string, error) { return ledger.ParseSpelled(s) }

// Time is a [ledger.Time], in JSON as that, which people can read.
type Time struct{ ledger.Time }

// Clock is t as people read it at the moment now: a time of day in layout if it was on the same
// day, with the date before it otherwise. Both are UTC, and layout has to say so. It is empty if
// t is unknown.
func (t Time) Clock(now time.Time, layout string) string {
	std, ok := t.Std()
	switch {
	case !t.Known():
		return ""
	case !ok:
		return t.String()
	case std.Format(time.DateOnly) == now.UTC().Format(time.DateOnly):
		return std.Format(layout)
	}
	return std.Format("2006-01-02T" + layout)
}

// encode writes JSON as people read it: what HTML would have escaped stands for itself.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
