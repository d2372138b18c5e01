package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// everything is a plan in which every field of the format has something.
func everything(t *testing.T) *replay.Plan {
	t.Helper()
	log := history(commit("g", hour, recordedRow(0, 100, 7, "run:1\x00", 0, hour), recordedRow(1, 200, 7, "", 1, hour)),
		commit("g", 3*hour, recordedRow(2, 5, 7, "", 2, 3*hour)))
	f := kafkaNow(has(0, 50), has(1, 300), has(2, 5))
	f.Groups[0].Members = []ledger.Member{{ID: "m", InstanceID: "s1", ClientID: "billing", Host: "/10.4.2.11", SessionTimeoutMillis: 45_000}}
	f.Groups[0].State = "Stable"
	f.Topics[0].Partitions[0].Epochs = []replay.EpochEnd{{Topic: "t", Epoch: ledger.EpochOf(7), End: 500}}
	f.Topics[0].Partitions[1].Log.Start = 250
	p := restoreTo(t, log, replay.Point{Time: millis(2 * hour)}, f, replay.Rules{Direction: replay.DirectionForward, AcceptExpiry: true})
	p.Incident, p.IncidentTime, p.FactsProblem = "i7", millis(2*hour), "no broker answers"
	p.Groups[0].LeftOut = []ledger.TopicPartition{{Topic: "t", Partition: 3}}
	p.Seal(nil)
	return p
}

// The bytes of a plan do not change within a version. UPDATE_GOLDEN=1 writes the file anew.
func TestPlanGolden(t *testing.T) {
	p := everything(t)
	var b bytes.Buffer
	body, err := p.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, json.Indent(&b, body, "", "  "))
	b.WriteByte('\n')
	path := filepath.Join("testdata", "plan-v1.json")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
	read, err := replay.ParsePlan(want)
	require.NoError(t, err)
	require.Equal(t, p, read)
}

// Plans that were written before a field was added are read, and are what they were.
func TestPlansOfBeforeAreRead(t *testing.T) {
	old, err := os.ReadFile(filepath.Join("testdata", "plan-v1-first.json"))
	require.NoError(t, err)
	p, err := replay.ParsePlan(old)
	require.NoError(t, err)
	body, err := p.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(old), string(body))
}

// A plan file that was edited, cut off, or is something else is refused, and the refusal says
// where.
func TestPlanFilesThatCannotBeTrusted(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("testdata", "plan-v1.json"))
	require.NoError(t, err)
	edit := func(from, to string) string {
		require.Contains(t, string(good), from)
		return strings.Replace(string(good), from, to, 1)
	}
	for name, c := range map[string]struct{ file, says string }{
		"target":         {edit(`"target": 100`, `"target": 101`), "groups[0].steps[0].skips: it does not follow from current, target and action"},
		"sum":            {edit(`"replays": 0`, `"replays": 1`), "groups[0].replays: 1, but the steps come to 0"},
		"metadata":       {edit(`run:1`, `run:2`), "digest: it is not that of the plan"},
		"reason":         {edit(`moved forward only`, `moved back only`), "digest: it is not that of the plan"},
		"id":             {edit(`"id": "p`, `"id": "p0`), "id: \"p0"},
		"action":         {edit(`"action": "set"`, `"action": "overwrite"`), `groups[0].steps[0].action: "overwrite" is no action`},
		"executable":     {edit(`"executable": false`, `"executable": true`), "executable: true does not follow"},
		"blocked":        {edit(`"group active"`, `"nothing"`), "blocked: it does not follow"},
		"no number":      {edit(`"target": 100`, `"target": "100"`), `line 66, groups[0].steps[0].target: "100" was given, and a whole number is expected`},
		"no offset":      {edit(`"target": 100`, `"target": -1`), "groups[0].steps[0].target: a step that sets an offset needs one"},
		"unknown field":  {edit(`"target": 100`, `"tagret": 100`), "line 66, groups[0].steps[0].tagret: there is no such field"},
		"truncated":      {string(good[:len(good)/2]), ": it ends in the middle"},
		"syntax":         {edit(`"command": "restore",`, `"command": "restore"`), "line 6: it is not JSON from "},
		"empty":          {"", "line 1: it ends in the middle"},
		"foreign":        {`{"kind":"group","version":1}`, `kind: "group" is not a plan`},
		"newer":          {edit(`"version": 1`, `"version": 2`), "version: 2 is not a version that this program knows"},
		"something else": {"topic,0,5\n", "line 1: "},
		"no time":        {edit(`"made": "`, `"made": "in `), `made: "in `},
		"no id":          {edit(`"topic_id": "6`, `"topic_id": "`), "groups[0].steps[0].topic_id: "},
		"no list":        {`{"kind":"plan","version":1,"groups":{}}`, "line 1, groups: an object was given, and a list is expected"},
		"a list":         {"[\n]", "line 1: a list was given, and an object is expected"},
		"twice":          {string(good) + string(good), "line "},
	} {
		p, err := replay.ParsePlan([]byte(c.file))
		require.ErrorIs(t, err, replay.ErrPlanFile, name)
		require.ErrorContains(t, err, c.says, name)
		_ = p
	}
}

// No input panics, and what is taken is the same when it is written and read again.
func FuzzParsePlan(f *testing.F) {
	if good, err := os.ReadFile(filepath.Join("testdata", "plan-v1.json")); err == nil {
		f.Add(good)
	}
	f.Add([]byte(`{"kind":"plan","version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := replay.ParsePlan(b)
		if err != nil {
			return
		}
		again, err := p.MarshalJSON()
		require.NoError(t, err)
		read, err := replay.ParsePlan(again)
		require.NoError(t, err)
		require.Equal(t, p, read)
	})
}

// The id has as many digits as it takes for no other plan to have it.
func TestPlanIDs(t *testing.T) {
	p := everything(t)
	require.Equal(t, "p"+p.Digest[:5], p.ID)
	first := p.ID
	p.Seal(func(id string) bool { return id == first })
	require.Equal(t, "p"+p.Digest[:6], p.ID)
	b, err := p.MarshalJSON()
	require.NoError(t, err)
	_, err = replay.ParsePlan(b)
	require.NoError(t, err)
}

// What the stock tool writes is read, and what is written it reads.
func TestPlanKafkaCSV(t *testing.T) {
	f := kafkaNow(has(0, 50), has(1, 60))
	p := resetTo(t, "10", f, replay.Rules{}, pick(0, 1, 2))
	var b bytes.Buffer
	require.NoError(t, p.WriteKafkaCSV(&b))
	require.Equal(t, "t,0,10\nt,1,10\nt,2,10\n", b.String())
	rows, err := replay.ParseKafkaCSV(b.Bytes())
	require.NoError(t, err)
	w := wishFor(replay.Target{Kind: replay.TargetRows, Text: "file", Rows: rows})
	w.AllTopics = false
	again, err := replay.PlanReset(w, material(t, history(commit("g", hour, row(0, 1, 0, hour))), replay.Point{}), f)
	require.NoError(t, err)
	requireSteps(t, again, brief{action: replay.ActionSet, target: 10}, brief{action: replay.ActionSet, target: 10}, brief{action: replay.ActionSet, target: 10})

	marked, err := replay.ParseKafkaCSV(append([]byte("\ufeff"), b.Bytes()...))
	require.NoError(t, err)
	require.Equal(t, rows, marked)
	rows, err = replay.ParseKafkaCSV([]byte("\"a,b\",t,1,7\ng,t,0,5\n"))
	require.NoError(t, err)
	require.Equal(t, []replay.FileRow{{Line: 1, Group: "a,b", HasGroup: true, Topic: "t", Partition: 1, Offset: 7}, {Line: 2, Group: "g", HasGroup: true, Topic: "t", Offset: 5}}, rows)
	for file, says := range map[string]string{
		"":                     "line 1: the file lists nothing",
		"t,0,5\nt,0,6\n":       "line 2: t/0 is listed twice",
		"t,0,5\nt,x,6\n":       `line 2: "x" is no partition`,
		"t,0,5\ng,t,1,6\n":     "line 2: 4 fields, and 3 in the lines before",
		"t,0,-5\n":             `line 1: "-5" is no offset`,
		"t,2147483648,5\n":     "is no partition",
		"TOPIC,PARTITION\n":    "2 fields; a line is topic,partition,offset",
		"t,0,5\n\"t,0,5\nt,0,": "line 3: ",
		",0,5\n":               "the topic is missing",
		"t,0,5\nt,1,\n":        `line 2: "" is no offset`,
		"g,t,0,5\ng,t,0,6\n":   "line 2: t/0 is listed twice",
		"{\"kind\":\"plan\"}":  "line 1: a quotation mark is not closed, or stands inside a field",
		"t\n":                  "line 1: 1 field; a line is",
	} {
		_, err := replay.ParseKafkaCSV([]byte(file))
		require.ErrorContains(t, err, says, file)
	}
}

// The stock tool moves what its file lists, whenever it is given it. What a plan keeps or deletes is
// not listed; of one that is made to note down what is committed, all is; of one that can never be
// carried out, nothing.
func TestPlanKafkaCSVMovesNothingElse(t *testing.T) {
	written := func(p *replay.Plan) string {
		var b bytes.Buffer
		require.NoError(t, p.WriteKafkaCSV(&b))
		return b.String()
	}
	f := kafkaNow(has(0, 50), has(1, 60), has(2, 10))
	require.Equal(t, "t,0,50\nt,1,60\nt,2,10\n", written(resetTo(t, "current", f, replay.Rules{}, pick(0, 1, 2, 3))))
	require.Equal(t, "t,0,10\nt,1,10\n", written(resetTo(t, "10", f, replay.Rules{}, pick(0, 1, 2))))
	require.Equal(t, "t,2,55\n", written(resetTo(t, "55", f, replay.Rules{Direction: replay.DirectionForward}, pick(1, 2))))
	require.Empty(t, written(resetTo(t, "2000000", f, replay.Rules{}, pick(0))))

	log := history(commit("g", hour, recordedRow(0, 40, 7, "", 0, hour)), commit("g", 3*hour, recordedRow(1, 60, 7, "", 1, 3*hour)))
	p := restoreTo(t, log, replay.Point{Time: millis(2 * hour)}, kafkaNow(has(0, 50), has(1, 60)), replay.Rules{DeleteAbsent: true})
	require.Equal(t, 1, p.Sums().Deleted)
	require.Equal(t, "t,0,40\n", written(p))
}

// A file and the groups of a plan have to go together: a line about another group is not passed
// over in silence, nor is a group without a line.
func TestPlanRowsOfOtherGroups(t *testing.T) {
	rows, err := replay.ParseKafkaCSV([]byte("g,t,0,5\nh,t,0,6\n"))
	require.NoError(t, err)
	require.NoError(t, replay.CheckRows(rows, nil))
	require.NoError(t, replay.CheckRows(rows, []string{"h", "g"}))
	require.ErrorContains(t, replay.CheckRows(rows, []string{"g"}), "line 2: it is about group h, and the plan is for g: name that group too")
	require.ErrorContains(t, replay.CheckRows(rows, []string{"g", "h", ""}), `rows: none is about group ""`)

	// So says a plan, of rows that are of no file.
	w := wishFor(replay.Target{Kind: replay.TargetRows, Rows: []replay.FileRow{{Group: "g", HasGroup: true, Topic: "t"}, {Group: "h", HasGroup: true, Topic: "t"}}})
	w.AllTopics = false
	_, err = replay.PlanReset(w, material(t, history(), replay.Point{}), kafkaNow())
	require.ErrorIs(t, err, replay.ErrWish)
	require.ErrorContains(t, err, "rows[1]: it is about group h")
	w.Target.Rows = []replay.FileRow{{Topic: "t", Offset: 1}, {Topic: "t", Offset: 2}}
	_, err = replay.PlanReset(w, material(t, history(), replay.Point{}), kafkaNow())
	require.ErrorContains(t, err, "rows[1]: t/0 is listed twice")
}

// What one program hands another about Kafka comes through as it was.
func TestPlanFactsAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) })
		f := kafkaNow(has(0, rapid.Int64().Draw(t, "at")))
		f.KafkaClusterID, f.FromLedger = text.Draw(t, "cluster"), rapid.Bool().Draw(t, "ledger")
		f.Retention = time.Duration(rapid.Int32().Draw(t, "retention")) * time.Millisecond
		g := &f.Groups[0]
		g.Name, g.Type, g.Problem = text.Draw(t, "group"), ledger.GroupType(rapid.Int32Range(0, 4).Draw(t, "type")), "x"
		g.Rows[0].Metadata, g.Rows[0].LeaderEpoch, g.Rows[0].CommitTime = text.Draw(t, "metadata"), ledger.EpochOf(rapid.Int32Range(-1, 5).Draw(t, "epoch")), millis(rapid.Int64Range(0, 1<<55).Draw(t, "time"))
		g.Members = []ledger.Member{{ID: text.Draw(t, "member"), InstanceID: "s", ClientID: "c", Host: "h", SessionTimeoutMillis: 5}}
		g.Pending = []ledger.TopicPartition{{Topic: "t", Partition: 1}}
		f.Topics[0].Partitions[1].Epochs = []replay.EpochEnd{{Topic: "t", Partition: 1, Epoch: ledger.EpochOf(0), End: 0}}
		f.Topics[0].Partitions[1].Found = &replay.FoundRecord{Offset: 3, Time: millis(4)}
		b, err := json.Marshal(f)
		require.NoError(t, err)
		var read replay.Facts
		require.NoError(t, json.Unmarshal(b, &read))
		require.Equal(t, f, read)

		q := replay.Inquiry{Groups: []string{g.Name}, Topics: []string{"t"}, Partitions: g.Pending, RecordTime: millis(5),
			Epochs: []replay.EpochEnd{{Topic: "t", Partition: 1, Epoch: ledger.EpochOf(0)}}}
		b, err = json.Marshal(q)
		require.NoError(t, err)
		var asked replay.Inquiry
		require.NoError(t, json.Unmarshal(b, &asked))
		require.Equal(t, q, asked)
	})
}

// Where no Kafka can be asked the ledger answers: as of its last observation, without epochs.
func TestPlanFactsOfTheLedger(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "m", 0, hour), recordedRow(1, 200, 7, "", 1, hour)),
		watermarks(2*hour, 500), commit("g", 3*hour, row(0, 5, 2, 3*hour)))
	s := stateAt(t, log, replay.Point{}, replay.OfCluster("c"))
	f := replay.LedgerFacts(s, "c", replay.Inquiry{Groups: []string{"g", "nobody"}}, millis(planNow))
	require.True(t, f.FromLedger)
	require.Equal(t, millis(2*hour), f.At)
	require.Equal(t, projection.GroupStateEmpty.String(), f.Group("g").State)
	require.False(t, f.Group("nobody").Exists)
	p := restoreTo(t, log, replay.Point{Seq: 3}, f, replay.Rules{})
	require.True(t, p.FromLedger)
	requireSteps(t, p, brief{action: replay.ActionSet, target: 100, meta: "m"},
		brief{action: replay.ActionKeep})
	require.Nil(t, p.Groups[0].Steps[1].Log)

	// Where no log was ever observed, they are as old as what was read of the group.
	s = stateAt(t, history(commit("g", hour, row(0, 100, 0, hour))), replay.Point{}, replay.OfCluster("c"))
	f = replay.LedgerFacts(s, "c", replay.Inquiry{Groups: []string{"g"}}, millis(planNow))
	group := "g"
	require.Equal(t, s.Through("c", &group), f.At)
	require.True(t, f.At.Before(millis(planNow)), "%s", f.At)
}

// A plan for 100,000 partitions is stored packed: its JSON is five times what can be stored at once.
func TestPlanOf100000Partitions(t *testing.T) {
	var log memory
	p := everything(t)
	g := &p.Groups[0]
	for n := range int32(100_000) {
		at := int64(n) * 1_000_003
		g.Steps = append(g.Steps, replay.Step{
			Topic: fmt.Sprintf("payments.orders.region-%03d.v2", n/100), TopicID: topicT, Partition: 10 + n%100,
			Current: projection.Value{At: at + int64(n%977), Exists: true}, Target: projection.Value{At: at, Exists: true},
			Log: &replay.Bounds{Start: at / 2, LastStable: at + 2000, End: at + 2000}, Action: replay.ActionSet,
		})
	}
	p.Seal(nil)
	b, err := p.MarshalJSON()
	require.NoError(t, err)
	require.Greater(t, len(b), 32<<20)
	ev, err := p.Event(replay.By{Actor: "kim"})
	require.NoError(t, err)
	require.Less(t, len(ev.Operation.Body), 8<<20)
	log.add(0, ev)
	found, err := replay.FindPlan(t.Context(), log, "c", p.ID)
	require.NoError(t, err)
	require.Equal(t, p.Digest, found.Plan.Digest)

	log[0].Event.Operation.Body = ev.Operation.Body[:len(ev.Operation.Body)/2]
	_, err = replay.FindPlan(t.Context(), log, "c", p.ID)
	require.ErrorIs(t, err, replay.ErrPlanFile)
}
