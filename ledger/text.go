package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a name or free text as Kafka stored it, of any bytes, which in JSON is spelled as
// [Spell] does.
type Text string

// String is the spelling of t.
func (t Text) String() string { return Spell(string(t)) }

// MarshalJSON writes the spelling of t. What HTML would have escaped stands for itself.
func (t Text) MarshalJSON() ([]byte, error) {
	if !strings.ContainsFunc(string(t), func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) && plain(string(t)) {
		return []byte(`"` + string(t) + `"`), nil // most are so
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(Spell(string(t)))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	raw, err := ParseSpelled(s)
	*t = Text(raw)
	return err
}

// Spell returns a name or a free text, which Kafka lets hold any bytes, as it is shown. Most
// texts stand for themselves. One that holds anything unprintable or bytes that are not UTF-8,
// that starts with a quotation mark, or whose blanks at either end could be overlooked, is
// spelled as a quoted string of Go: "a\x1b".
func Spell(s string) string {
	if plain(s) {
		return s
	}
	return strconv.Quote(s)
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

// ParseSpelled is the inverse of [Spell]. A text that starts with a quotation mark has to be a
// quoted string of Go; any other stands for itself.
func ParseSpelled(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	raw, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf(`%s starts with a quotation mark but is not a quoted string, as in "a\x1b"`, s)
	}
	return raw, nil
}

// Count spells so many of something in a sentence: "1 group", "2 groups". What is a noun whose plural
// ends with an s.
func Count[N int | int32 | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
