package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// specTypes are the objects that answers are made of, by the titles of their tables.
var specTypes = map[string]any{
	"envelope": Envelope{}, "coverage": Coverage{}, "gap": Gap{}, "groups": Groups{}, "group row": GroupRow{}, "group": Group{},
	"member": MemberRow{}, "statistics": Statistics{}, "offset": OffsetRow{}, "pending": Pending{}, "history": History{},
	"change": ChangeRow{}, "who": Who{}, "incidents": Incidents{}, "incident": IncidentRow{}, "where": Where{}, "events": Events{},
	"event": EventRow{}, "source": SourceRow{}, "event offset": EventOffset{}, "ledger": Ledger{}, "check": Check{},
	"problem": Problem{}, "progress": Progress{}, "plans": Plans{}, "plan row": PlanRow{}, "plan request": PlanRequest{},
	"snapshots": Snapshots{}, "snapshot": SnapshotRow{}, "snapshot part": SnapshotPart{}, "snapshot name": SnapshotName{},
	"topic set": TopicSet{}, "file row": FileRow{}, "lag": LagHistory{}, "lag row": LagRow{}, "diff": Diff{}, "diff row": DiffRow{}, "diff partition": DiffPartition{},
	"annotation": AnnotationRow{}, "annotate request": AnnotateRequest{}, "put back": PutBackRow{},
	"restores": Restores{}, "restore": RestoreRow{}, "restore shown": RestoreShown{}, "restored step": RestoredStepRow{}, "apply request": ApplyRequest{}, "restored": Restored{}, "drift": DriftRow{},
	"restored group": RestoredGroup{}, "refused": RefusedRow{}, "approve request": ApproveRequest{}, "approval": Approval{},
	"undo request": UndoRequest{}, "records request": RecordsRequest{}, "records": Records{}, "record": RecordRow{},
	"append request": AppendRequest{}, "expectation": Expectation{}, "appended": Appended{},
}

// spec is docs/http.md, the contract of the routes.
func spec(t *testing.T) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	require.True(t, ok)
	b, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../docs/http.md"))
	require.NoError(t, err)
	return string(b)
}

// sections are the parts of text that begin with a heading of that level, by title.
func sections(text, level string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(text, "\n"+level+" ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		out[title] = body
	}
	return out
}

// table is the rows of a table whose first column is backquoted words, with the words of a
// column put into one string.
func table(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(strings.ReplaceAll(row[i], "`", ""))
		}
		rows = append(rows, row)
	}
	return rows
}

// The routes and their parameters are those of the document, and the other way round; and
// every parameter is explained.
func TestTheSpecNamesEveryRouteAndParameter(t *testing.T) {
	documented, explained := map[string][]string{}, map[string]bool{}
	for _, row := range table(sections(spec(t), "##")["Routes"]) {
		if strings.HasPrefix(row[0], "/") {
			documented[row[0]] = slices.Sorted(slices.Values(strings.Fields(row[1])))
			continue
		}
		for name := range strings.FieldsSeq(row[0]) {
			explained[name] = true
		}
	}
	actual, taken := map[string][]string{}, map[string]bool{}
	for path, r := range NewHandler(Config{View: projection.NewView()}).(*server).routes {
		actual[path] = slices.Sorted(slices.Values(r.takes))
		for _, name := range r.takes {
			taken[name] = true
		}
	}
	require.Equal(t, actual, documented)
	require.Equal(t, taken, explained)
}

func TestTheSpecNamesEveryProblem(t *testing.T) {
	documented := map[Code]int{}
	for _, row := range table(sections(spec(t), "##")["Problems"]) {
		status, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		documented[Code(row[0])] = status
	}
	require.Equal(t, statusOf, documented)
}

// The fields of every object and their types are those of its table, and the other way round.
func TestTheSpecNamesEveryField(t *testing.T) {
	tables := sections(sections(spec(t), "##")["Fields"], "###")
	require.ElementsMatch(t, slices.Collect(maps.Keys(specTypes)), slices.Collect(maps.Keys(tables)))
	reached := map[reflect.Type]bool{}
	for title, v := range specTypes {
		documented := map[string]string{}
		for _, row := range table(tables[title]) {
			for name := range strings.FieldsSeq(row[0]) {
				require.NotContains(t, documented, name, title)
				documented[name] = row[1]
			}
		}
		require.Equal(t, fieldsOf(t, reflect.TypeOf(v)), documented, title)
		reached[reflect.TypeOf(v)] = true
	}
	for path := range answers {
		require.True(t, reached[reflect.TypeOf(answers[path])], path)
	}
}

// answers are what the routes answer with. /healthz and /readyz have no type of their own, and
// what answers about one plan is a document of package replay.
var answers = map[string]any{
	routeGroups: Groups{}, routeGroup: Group{}, routeHistory: History{}, routeEvents: Events{}, routeDiff: Diff{}, routeLag: LagHistory{},
	routeIncidents: Incidents{}, routeIncident: Incidents{}, routeAnnotate: Incidents{}, routeLedger: Ledger{}, routePlans: Plans{},
	routeRestores: Restores{}, routeRestore: RestoreShown{}, routeApply: Restored{}, routeApprove: Approval{}, routeRecords: Records{}, routeAppend: Appended{},
	routeSnapshots: Snapshots{}, routeSnapshotDelete: Snapshots{},
}

func TestEveryRouteHasAnAnswerInTheSpec(t *testing.T) {
	for path := range NewHandler(Config{View: projection.NewView()}).(*server).routes {
		if !slices.Contains([]string{routeHealth, routeReady, routePlan, routePlanInquiry, routeUndo, routeUndoInquiry, routeFacts}, path) {
			require.Contains(t, answers, path)
		}
	}
}

// fieldsOf are the JSON fields of a struct but those of structs in it, which have tables of
// their own, with their types as the document spells them.
func fieldsOf(t *testing.T, typ reflect.Type) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.NotEmpty(t, name, "%s.%s has no JSON name", typ.Name(), f.Name)
		if options == "omitempty" {
			out[name] = strings.TrimSuffix(spelled(t, f.Type), "?") + "~"
			continue
		}
		out[name] = spelled(t, f.Type)
		if f.Tag.Get("needed") != "" { // a pointer only to see whether it is there
			out[name] = strings.TrimSuffix(out[name], "?")
		}
	}
	return out
}

func spelled(t *testing.T, typ reflect.Type) string {
	t.Helper()
	switch typ {
	case reflect.TypeFor[Time]():
		return "time?"
	case reflect.TypeFor[Text]():
		return "text"
	case reflect.TypeFor[json.RawMessage]():
		return "object?"
	case reflect.TypeFor[[]byte]():
		return "bytes"
	case reflect.TypeFor[replay.Facts]():
		return "facts"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return spelled(t, typ.Elem()) + "?"
	case reflect.Slice:
		return "[" + spelled(t, typ.Elem()) + "]"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint64:
		return "integer"
	}
	for title, v := range specTypes {
		if reflect.TypeOf(v) == typ {
			return title
		}
	}
	require.Fail(t, "the document has no word for it", typ)
	return ""
}

// The bodies of events follow the types of package ledger.
func TestTheSpecNamesEveryFieldOfABody(t *testing.T) {
	documented, actual := map[string]string{}, map[string]string{}
	for _, row := range table(sections(spec(t), "##")["Body of events"]) {
		documented[row[0]] = row[1]
	}
	for kind, v := range bodies {
		bodyFields(kind, reflect.TypeOf(v), actual)
	}
	require.Equal(t, actual, documented)
}

var bodies = map[string]any{
	"group": ledger.Membership{}, "topic": ledger.TopicInfo{}, "watermarks": ledger.Watermarks{}, "cursor": ledger.Cursor{},
	"gap": ledger.Gap{}, "opaque": ledger.Opaque{}, "claim": ledger.Claim{}, "checkpoint": ledger.Checkpoint{},
	"operator": ledger.Operation{}, "snapshot": ledger.Snapshot{},
}

func bodyFields(where string, typ reflect.Type, out map[string]string) {
	var names []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() {
			continue
		}
		name := snake(f.Name)
		names = append(names, name)
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			bodyFields(where+"."+name, f.Type.Elem(), out)
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && f.Type != reflect.TypeFor[uuid.UUID]() {
			bodyFields(where+"."+name+"[]", f.Type.Elem(), out)
		}
	}
	out[where] = strings.Join(names, " ")
}

// Every example is a whole answer of this version: nothing in it is unknown, nothing missing.
func TestTheExamplesOfTheSpecAreAnswers(t *testing.T) {
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(spec(t), -1)
	require.NotEmpty(t, examples)
	for _, e := range examples {
		var head struct{ Kind, Code string }
		require.NoError(t, json.Unmarshal([]byte(e[1]), &head))
		answer := answers["/api/v1/"+head.Kind]
		if head.Code != "" {
			answer = Problem{}
		}
		require.NotNil(t, answer, head.Kind)
		v := reflect.New(reflect.TypeOf(answer))
		d := json.NewDecoder(bytes.NewReader([]byte(e[1])))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(v.Interface()))
		again, err := json.Marshal(v.Interface())
		require.NoError(t, err)
		require.JSONEq(t, string(again), e[1])
	}
}
