package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// body is what an event holds beside its rows, as JSON with the field names of the event in
// snake case; null if it holds nothing.
func body(ev *ledger.Event) (json.RawMessage, error) {
	for _, payload := range []any{
		ev.Membership, ev.TopicInfo, ev.Watermarks, ev.Cursor, ev.Gap, ev.Opaque, ev.Claim, ev.Checkpoint, ev.Operation, ev.Snapshot,
	} {
		if v := reflect.ValueOf(payload); !v.IsNil() {
			return encode(plainValue(v.Elem()))
		}
	}
	return json.RawMessage("null"), nil
}

// plainValue turns a value of package ledger into one that is encoded by the rules of this
// package.
func plainValue(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case ledger.Time:
		return Time{x}
	case ledger.Epoch:
		return epoch(x)
	case ledger.GroupType:
		return x.String()
	case uuid.UUID:
		return topicID(x)
	case []byte:
		return x
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plainValue(v.Elem())
	case reflect.String:
		return Text(v.String())
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plainValue(v.Index(i))
		}
		return out
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				out[snake(f.Name)] = plainValue(v.Field(i))
			}
		}
		return out
	}
	return v.Interface()
}

// snake spells the name of a Go field as a JSON one: TopicID is topic_id.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
