package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

// What reasons name as rules is a flag of the command line, and every rule of a request has one.
func TestRulesAreFlags(t *testing.T) {
	require.Equal(t, "the log starts at 5, with 3 records gone; --clamp to begin there", flagged("the log starts at 5, with 3 records gone; rule clamp to begin there"))
	require.Equal(t, "it ends; --accept-expiry if the group starts before", flagged("it ends; rule accept_expiry if the group starts before"))
	require.Equal(t, "as a rule", flagged("as a rule"))

	a := &app{getenv: func(string) string { return "" }}
	var help strings.Builder
	for _, c := range []interface{ UsageString() string }{a.restorePlanCommand(), a.resetPlanCommand()} {
		help.WriteString(c.UsageString())
	}
	for i := range reflect.TypeFor[api.PlanRequest]().NumField() {
		f := reflect.TypeFor[api.PlanRequest]().Field(i)
		if f.Type.Kind() != reflect.Bool {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Regexp(t, regexp.QuoteMeta(flagged("rule "+name))+`\b`, help.String())
	}
}
