package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// CSV writes structs as comma-separated values under a header of their JSON names. The
// fields of a nested struct follow it as name_field; null is an empty cell; what has no
// single value is JSON in its cell. Without rows there is the header alone.
type CSV struct {
	w      *csv.Writer
	row    reflect.Type
	headed bool
}

// NewCSV returns a CSV that writes to w. All its rows are of the type of row, whose value does
// not matter.
func NewCSV(w io.Writer, row any) *CSV { return &CSV{w: csv.NewWriter(w), row: reflect.TypeOf(row)} }

func (c *CSV) head() error {
	if c.headed {
		return nil
	}
	c.headed = true
	return c.w.Write(names(c.row, ""))
}

// Write writes one row.
func (c *CSV) Write(row any) error {
	if err := c.head(); err != nil {
		return err
	}
	cells, err := cells(nil, reflect.ValueOf(row))
	if err != nil {
		return err
	}
	return c.w.Write(cells)
}

// Flush hands everything to the writer below.
func (c *CSV) Flush() error {
	if err := c.head(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// nested reports whether a field is spread over columns of its own.
func nested(t reflect.Type) bool { return t.Kind() == reflect.Struct && !t.Implements(marshaler) }

func names(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, names(f.Type, prefix)...)
		case nested(f.Type):
			out = append(out, names(f.Type, prefix+name+"_")...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}

func cells(out []string, v reflect.Value) ([]string, error) {
	for i := range v.NumField() {
		f := v.Field(i)
		if nested(f.Type()) {
			var err error
			if out, err = cells(out, f); err != nil {
				return nil, err
			}
			continue
		}
		cell, err := cellOf(f.Interface())
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", v.Type().Field(i).Name, err)
		}
		out = append(out, cell)
	}
	return out, nil
}

func cellOf(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	text := strings.TrimSuffix(b.String(), "\n")
	switch {
	case text == "null":
		return "", nil
	case strings.HasPrefix(text, `"`):
		var s string
		err := json.Unmarshal([]byte(text), &s)
		return s, err
	}
	return text, nil
}
