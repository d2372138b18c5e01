package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/google/uuid"
)

// JSONError says where a JSON document is not what was expected.
type JSONError struct {
	Line   int    // from 1
	Field  string // as in groups[0].steps[3].target; empty if it is about the document
	Reason string
}

func (e *JSONError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return e.Field + ": " + e.Reason
}

// UnmarshalStrict reads a JSON document into what v points to. A field that v does not have is
// refused, and so is anything behind the document. The error is a [*JSONError].
func UnmarshalStrict(doc []byte, v any) error {
	var syntax *json.SyntaxError
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	cut := &JSONError{Line: lineAt(doc, len(doc)), Reason: "it ends in the middle"}
	switch {
	case err == nil:
		end := dec.InputOffset()
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return &JSONError{Line: lineAt(doc, int(end)), Reason: "something follows the document"}
		}
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return cut
	case errors.As(err, &syntax) && int(syntax.Offset) > len(doc):
		return cut
	case errors.As(err, &syntax):
		return &JSONError{Line: lineAt(doc, int(syntax.Offset)-1), Reason: "it is not JSON from " + shortened(doc[max(int(syntax.Offset)-1, 0):]) + " on"}
	}
	w := fieldWalk{doc}
	if fault := w.value(0, int(dec.InputOffset()), reflect.TypeOf(v).Elem(), ""); fault != nil {
		return fault
	}
	return &JSONError{Line: 1, Reason: strings.TrimPrefix(err.Error(), "json: ")}
}

// fieldWalk looks for the field that a document could not be read for: value by value, as long as
// the one that does not fit has parts.
type fieldWalk struct {
	doc []byte
}

// value finds what does not fit in the value of type t that lies from one place of the document to
// another; nil if it fits.
func (w *fieldWalk) value(from, to int, t reflect.Type, field string) *JSONError {
	from += len(w.doc[from:to]) - len(bytes.TrimLeft(w.doc[from:to], " \t\r\n:,"))
	raw := w.doc[from:to]
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	plain := !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	var fault *JSONError
	switch {
	case plain && t.Kind() == reflect.Struct && raw[0] == '{':
		fault = w.parts(from, raw, field, func(key string) (reflect.Type, string) { return fieldOf(t, key) })
	case plain && t.Kind() == reflect.Slice && raw[0] == '[':
		fault = w.parts(from, raw, field, func(string) (reflect.Type, string) { return t.Elem(), "" })
	}
	if fault == nil {
		fault = &JSONError{Line: lineAt(w.doc, from), Field: field, Reason: misfit(raw, t, err)}
	}
	return fault
}

// parts finds what does not fit in an object or a list: part says the type of one, or why there is
// none.
func (w *fieldWalk) parts(from int, raw []byte, field string, part func(key string) (reflect.Type, string)) *JSONError {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, _ := dec.Token() // it was read once
	for i := 0; dec.More(); i++ {
		name, key := fmt.Sprintf("%s[%d]", field, i), ""
		if open == json.Delim('{') {
			token, _ := dec.Token()
			key, _ = token.(string)
			name = strings.TrimPrefix(field+"."+key, ".")
		}
		begin := from + int(dec.InputOffset())
		t, why := part(key)
		if why != "" {
			return &JSONError{Line: lineAt(w.doc, begin), Field: name, Reason: why}
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		if fault := w.value(begin, from+int(dec.InputOffset()), t, name); fault != nil {
			return fault
		}
	}
	return nil
}

// fieldOf is the type of a field of a struct by its name in JSON.
func fieldOf(t reflect.Type, key string) (reflect.Type, string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); strings.EqualFold(name, key) {
			return f.Type, ""
		}
	}
	return nil, "there is no such field"
}

// misfit says of a value what it is and what is expected there.
func misfit(raw []byte, t reflect.Type, err error) string {
	var typ *json.UnmarshalTypeError
	given := map[byte]string{'{': "an object", '[': "a list", 't': "true", 'f': "false", 'n': "null"}[raw[0]]
	if given == "" {
		given = shortened(raw)
	}
	wanted := wantedWords(t)
	switch {
	case wanted == "" && errors.As(err, &typ): // inside of what reads itself
		return fmt.Sprintf("in %s a %s was given, and %s is expected", typ.Field, typ.Value, wantedWords(typ.Type))
	case wanted == "", t == reflect.TypeFor[Text]() && raw[0] == '"':
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return given + " was given, and " + wanted + " is expected"
}

// wantedWords says what a value of a type is in JSON; empty if only the type itself knows.
func wantedWords(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Time]():
		return "a time, as in 2026-11-30T02:46:00Z,"
	case reflect.TypeFor[Epoch]():
		return "a whole number or null"
	case reflect.TypeFor[uuid.UUID]():
		return "an id, as in 6c8169b7-35a7-4fff-8107-0ec9562bf088,"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return fmt.Sprintf("a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		if !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return "an object"
		}
	}
	return ""
}

// shortened is the beginning of a value, as it is written.
func shortened(raw []byte) string {
	const most = 40
	raw, _, _ = bytes.Cut(raw, []byte("\n"))
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}

// lineAt is the line of a place in a document, from 1.
func lineAt(doc []byte, at int) int {
	return 1 + bytes.Count(doc[:min(max(at, 0), len(doc))], []byte("\n"))
}
