package api

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/projection"
)

// spec is docs/http.md, the contract of the routes.
func spec(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/http.md")
	require.NoError(t, err)
	return string(b)
}

// words are what the text has between backquotes, one by one.
func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		for w := range strings.FieldsSeq(m[1]) {
			out[w] = true
		}
	}
	return out
}

// cells are the first columns of the rows of a table that begin with a backquoted word.
func cells(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range row {
			row[i] = strings.Trim(strings.TrimSpace(row[i]), "`")
		}
		rows = append(rows, row)
	}
	return rows
}

func section(t *testing.T, text, title string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, "\n## "+title+"\n")
	require.True(t, ok, title)
	body, _, _ := strings.Cut(after, "\n## ")
	return body
}

// The routes and their parameters are those of the document, and the other way round.
func TestTheSpecNamesEveryRouteAndParameter(t *testing.T) {
	documented := map[string][]string{}
	for _, row := range cells(section(t, spec(t), "Routes")) {
		documented[row[0]] = slices.Sorted(slices.Values(strings.Fields(row[1])))
	}
	actual := map[string][]string{}
	for path, r := range NewHandler(Config{View: projection.NewView()}).(*server).routes {
		actual[path] = slices.Sorted(slices.Values(r.takes))
	}
	require.Equal(t, slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(actual)))
	for path, takes := range actual {
		require.ElementsMatch(t, takes, documented[path], path)
	}
}

func TestTheSpecNamesEveryProblem(t *testing.T) {
	documented := map[Code]int{}
	for _, row := range cells(section(t, spec(t), "Problems")) {
		status, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		documented[Code(row[0])] = status
	}
	require.Equal(t, documented, statusOf)
}

// Every field of every answer is in the document.
func TestTheSpecNamesEveryField(t *testing.T) {
	named := words(spec(t))
	for _, v := range []any{
		Groups{}, Group{}, History{}, Events{}, Incidents{}, Ledger{}, Problem{}, Progress{},
		GroupRow{}, MemberRow{}, Statistics{}, OffsetRow{}, Pending{}, ChangeRow{}, Who{}, IncidentRow{}, Where{},
		EventRow{}, SourceRow{}, EventOffset{}, Check{}, Gap{}, Coverage{}, Envelope{},
	} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			require.True(t, named[name], "%s.%s: docs/http.md does not name the field %s", typ.Name(), typ.Field(i).Name, name)
		}
	}
}
