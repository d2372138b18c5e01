package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/offsetledger/offsetledger/ledger"
)

// Text is a name or free text as Kafka stored it: any bytes. [Spell] and [ParseText] are how
// it is shown and accepted, in JSON, in query parameters and on the command line alike.
type Text string

// Spell returns s as it is shown. Most texts stand for themselves. One that holds anything
// unprintable or bytes that are not UTF-8, that starts with a quotation mark, or whose blanks
// at either end could be overlooked, is spelled as a quoted string of Go: "a\x1b".
func Spell(s string) string {
	if plain(s) {
		return s
	}
	return strconv.Quote(s)
}

// Shown is [Spell] for a sentence or a table, where the empty text has to be seen.
func Shown(s string) string {
	if s == "" {
		return `""`
	}
	return Spell(s)
}

func plain(s string) bool {
	if strings.HasPrefix(s, `"`) || strings.TrimSpace(s) != s || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// ParseText is the inverse of [Spell]. A text that starts with a quotation mark has to be a
// quoted string of Go; any other stands for itself.
func ParseText(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	raw, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf(`%s starts with a quotation mark but is not a quoted string, as in "a\x1b"`, s)
	}
	return raw, nil
}

// String is the spelling of t.
func (t Text) String() string { return Spell(string(t)) }

// MarshalJSON writes the spelling of t.
func (t Text) MarshalJSON() ([]byte, error) { return encode(Spell(string(t))) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	raw, err := ParseText(s)
	*t = Text(raw)
	return err
}

// Time is a [ledger.Time] in JSON: RFC 3339 in UTC with milliseconds, a bare number of
// milliseconds outside the calendar, null when unknown.
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

// MarshalJSON writes t.
func (t Time) MarshalJSON() ([]byte, error) {
	if _, ok := t.Std(); ok {
		return json.Marshal(t.String())
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
		*t = Time{ledger.AtMillis(ms)}
		return nil
	}
	var std time.Time
	if err := json.Unmarshal(b, &std); err != nil {
		return err
	}
	*t = Time{ledger.AtTime(std)}
	return nil
}

// encode writes JSON as people read it: what HTML would have escaped stands for itself.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
