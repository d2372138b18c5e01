package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/bench"
)

// docs/operations.md names every field of what doctor and bench print in JSON, and no other.
func TestJSONFieldsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for heading, row := range map[string]any{
		"## Checks for programs": diagnosis{}, "### kafka": kafkaReport{}, "### right": rightState{}, "### figure": bench.Row{},
	} {
		require.ElementsMatch(t, jsonFields(reflect.TypeOf(row)), documented(t, string(b), heading), heading)
	}
}

func jsonFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

var quotedName = regexp.MustCompile("`([a-z_]+)`")

// documented returns the names in the first column of the first table below a heading.
func documented(t *testing.T, text, heading string) []string {
	_, below, found := strings.Cut(text, "\n"+heading+"\n")
	require.True(t, found, heading)
	_, below, found = strings.Cut(below, "\n| field | type | |\n|---|---|---|\n")
	require.True(t, found, heading)
	table, _, _ := strings.Cut(below, "\n\n")
	var names []string
	for line := range strings.Lines(table) {
		for _, m := range quotedName.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			names = append(names, m[1])
		}
	}
	return names
}
