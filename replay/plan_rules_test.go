package replay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// A plan for a whole group that goes both ways is refused until somebody says what is meant: a
// direction, or the partitions by name. The refusal lists both sides.
func TestPlanBothWays(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "", 0, hour), recordedRow(1, 200, 7, "", 1, hour)))
	at := replay.Point{Time: millis(2 * hour)}
	f := kafkaNow(has(0, 50), has(1, 300))
	p := restoreTo(t, log, at, f, replay.Rules{})
	require.Len(t, p.Refused, 1)
	require.Contains(t, p.Refused[0], "forward t 0, and back t 1")
	require.True(t, p.Impossible())

	for direction, actions := range map[replay.Direction][2]replay.Action{
		replay.DirectionForward: {replay.ActionSet, replay.ActionKeep},
		replay.DirectionBack:    {replay.ActionKeep, replay.ActionSet},
		replay.DirectionBoth:    {replay.ActionSet, replay.ActionSet},
	} {
		p := restoreTo(t, log, at, f, replay.Rules{Direction: direction})
		require.False(t, p.Impossible(), direction)
		require.Equal(t, actions, [2]replay.Action{p.Groups[0].Steps[0].Action, p.Groups[0].Steps[1].Action}, direction)
	}
	w := wishFor(pointTarget(at), pick(0, 1))
	p, err := replay.PlanRestore(w, material(t, log, at), f)
	require.NoError(t, err)
	require.True(t, p.Executable())
}

// Offsets of a classic group expire by the time since when it is empty. A plan whose offsets
// would not live a quarter of an hour is refused, unless that is accepted; those of a group that
// never had members count from the commit.
func TestPlanOffsetsThatWouldExpire(t *testing.T) {
	f := kafkaNow(has(0, 50))
	f.Retention = time.Hour
	f.Groups[0].Simple, f.Groups[0].EmptySince = false, millis(planNow-50*60_000)
	p := resetTo(t, "10", f, replay.Rules{}, pick(0))
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "rule accept_expiry"})
	require.Equal(t, millis(planNow+10*60_000), p.Groups[0].Steps[0].ExpiresAt)
	requireSteps(t, resetTo(t, "10", f, replay.Rules{AcceptExpiry: true}, pick(0)), brief{action: replay.ActionSet, target: 10})

	f.Groups[0].Simple = true
	p = resetTo(t, "10", f, replay.Rules{}, pick(0))
	requireSteps(t, p, brief{action: replay.ActionSet, target: 10})
	require.Equal(t, millis(planNow+hour), p.Groups[0].Steps[0].ExpiresAt)

	f.Groups[0].Simple, f.Groups[0].EmptySince = false, ledger.Time{}
	p = resetTo(t, "10", f, replay.Rules{}, pick(0))
	requireSteps(t, p, brief{action: replay.ActionSet, target: 10})
	require.False(t, p.Groups[0].Steps[0].ExpiresAt.Known())
}

// What was not committed at the point is left, or deleted if that is asked for.
func TestPlanOffsetsThatDidNotExist(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "", 0, hour)), commit("g", 3*hour, recordedRow(1, 5, 7, "", 1, 3*hour)))
	at := replay.Point{Time: millis(2 * hour)}
	f := kafkaNow(has(0, 100), has(1, 5))
	requireSteps(t, restoreTo(t, log, at, f, replay.Rules{}), brief{action: replay.ActionKeep}, brief{action: replay.ActionKeep, reasons: "rule delete_absent"})
	p := restoreTo(t, log, at, f, replay.Rules{DeleteAbsent: true})
	requireSteps(t, p, brief{action: replay.ActionKeep}, brief{action: replay.ActionDelete})
	require.Equal(t, replay.Sums{Kept: 1, Deleted: 1, Uncounted: 1}, p.Sums())
}

// Of a moment before history, and of one that capture has not come to, nothing is put back.
func TestPlanOfAMomentThatIsNotKnown(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "", 0, hour)))
	f := kafkaNow(has(0, 50))
	p := restoreTo(t, log, replay.Point{Time: millis(500)}, f, replay.Rules{})
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "it is not known what was committed then: before history, which is known whole since " + millis(1000).String()})
	p = restoreTo(t, log, replay.Point{Time: millis(planNow - 1)}, f, replay.Rules{})
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "capture has not passed that moment"})

	// Neither is it known that nothing was committed then: what is there now is not deleted for it,
	// in partitions that the ledger knows and in those that it does not.
	f = kafkaNow(has(0, 50), has(1, 50), has(2, 50))
	for at, why := range map[int64]string{500: "before history", planNow - 1: "capture has not passed that moment"} {
		log := history(commit("g", hour, recordedRow(0, 100, 7, "", 0, hour)), commit("g", planNow-1, row(1, 7, 1, planNow-1)))
		p = restoreTo(t, log, replay.Point{Time: millis(at)}, f, replay.Rules{DeleteAbsent: true})
		requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: why}, brief{action: replay.ActionRefuse, reasons: why}, brief{action: replay.ActionRefuse, reasons: why})
	}
}

// Before Kafka 4.1 no row names the id of its topic. That the topic was made again since is known
// from the ledger then.
func TestPlanOfATopicThatWasMadeAgain(t *testing.T) {
	again := ledger.Event{Kind: ledger.KindTopic, Cluster: "c", Topic: "t", Time: millis(3 * hour), Source: ledger.Source{Kind: ledger.SourceTail},
		TopicInfo: &ledger.TopicInfo{TopicID: topicT, Partitions: 2, Recreated: true}}
	log := history(commit("g", hour, row(0, 100, 0, hour)), again, commit("g", 4*hour, row(1, 7, 1, 4*hour)))
	p := restoreTo(t, log, replay.Point{Time: millis(2 * hour)}, kafkaNow(has(0, 50)), replay.Rules{})
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "made again since, at 1970-01-01T03:00:00.000Z"}, brief{action: replay.ActionKeep})
	p = restoreTo(t, log, replay.Point{Time: millis(5 * hour)}, kafkaNow(has(1, 50)), replay.Rules{})
	require.Equal(t, replay.ActionSet, p.Groups[0].Steps[1].Action)
}

// Share groups take no offsets; those of Kafka Streams have state beside theirs. An open
// transaction can still commit what would be overwritten: that clears by itself.
func TestPlanGroupsOfOtherKinds(t *testing.T) {
	f := kafkaNow(has(0, 50))
	f.Groups[0].Type = ledger.GroupTypeShare
	require.True(t, resetTo(t, "10", f, replay.Rules{ForceStreams: true}, pick(0)).Impossible())
	f.Groups[0].Type = ledger.GroupTypeStreams
	require.True(t, resetTo(t, "10", f, replay.Rules{}, pick(0)).Impossible())
	require.True(t, resetTo(t, "10", f, replay.Rules{ForceStreams: true}, pick(0)).Executable())

	f = kafkaNow(has(0, 50), has(1, 50))
	f.Groups[0].Pending = []ledger.TopicPartition{{Topic: "t", Partition: 1}}
	require.Equal(t, []string{"an open transaction may still commit t 1"}, resetTo(t, "10", f, replay.Rules{}, pick(0, 1)).Blocked())
	require.Empty(t, resetTo(t, "10", f, replay.Rules{}, pick(0)).Blocked())
}

func TestPlanTargets(t *testing.T) {
	f := kafkaNow(has(0, 50))
	f.Topics[0].Partitions[0].Log = &replay.Bounds{Start: 20, LastStable: 90, End: 100}
	for text, want := range map[string]int64{"earliest": 20, "latest": 100, "70": 70, "+10": 60, "-30": 20, "current": 50} {
		require.Equal(t, want, resetTo(t, text, f, replay.Rules{}, pick(0)).Groups[0].Steps[0].Target.At, text)
	}
	requireSteps(t, resetTo(t, "-31", f, replay.Rules{}, pick(0)), brief{action: replay.ActionRefuse, reasons: "1 record gone"})
	// A shift beyond what there are numbers for goes as far as there are, and not round to the start.
	far := resetTo(t, "+9223372036854775807", f, replay.Rules{Clamp: true}, pick(0))
	requireSteps(t, far, brief{action: replay.ActionSet, target: 100, reasons: "beyond the end"})
	requireSteps(t, resetTo(t, "+9223372036854775807", f, replay.Rules{}, pick(0)), brief{action: replay.ActionRefuse, reasons: "the log ends at 100"})
	requireSteps(t, resetTo(t, "-9223372036854775807", f, replay.Rules{Clamp: true}, pick(0)), brief{action: replay.ActionSet, target: 20, reasons: "gone"})
	requireSteps(t, resetTo(t, "+1", f, replay.Rules{}, pick(1)), brief{action: replay.ActionRefuse, reasons: "nothing can be shifted"})
	requireSteps(t, resetTo(t, "current", f, replay.Rules{}, pick(1)), brief{action: replay.ActionKeep})
	requireSteps(t, resetTo(t, "earliest", f, replay.Rules{}, pick(7)), brief{action: replay.ActionRefuse, reasons: "no such partition; it has 4"})

	other := replay.GroupFacts{Name: "other", Exists: true, State: "Empty", Type: ledger.GroupTypeClassic, Rows: []ledger.Offset{
		{Topic: "t", TopicID: topicT, At: 33, LeaderEpoch: ledger.EpochOf(2), Metadata: "mine"},
	}}
	f.Groups = append(f.Groups, other)
	f.Topics[0].Partitions[0].Epochs = []replay.EpochEnd{{Topic: "t", Epoch: ledger.EpochOf(2), End: 40}}
	requireSteps(t, resetTo(t, "group:other", f, replay.Rules{}), brief{action: replay.ActionSet, target: 33, epoch: "2", meta: "mine"})
}

// More rows than one commit holds are several, and then the group is not moved at once.
func TestPlanCommits(t *testing.T) {
	g := replay.PlanGroup{}
	require.Zero(t, g.Commits())
	for n := range int32(262) {
		g.Steps = append(g.Steps, replay.Step{Topic: "t", Partition: n, Action: replay.ActionSet, Metadata: strings.Repeat("m", 4096)})
	}
	require.Equal(t, 3, g.Commits())
	for i := range g.Steps[:138] {
		g.Steps[i].Action = replay.ActionKeep
	}
	require.Equal(t, 1, g.Commits())
}

// A target is read the same again as it is spelled.
func TestPlanTargetsAsTheyAreSpelled(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 12, 40, 0, time.UTC)
	for _, text := range []string{"earliest", "latest", "current", "700", "+50", "-50", "@2026-11-30T02:46:00Z", "@-1h", "@1764470760", "commit-time:P1D",
		"seq:12", "before:12", "checkpoint:x", "appended:2026-11-30T02:46:00Z", "group:other", "group:other@seq:4", "group:a@b@now", `group:"a\x1b"`} {
		first, err := replay.ParseTarget(text, now, nil)
		require.NoError(t, err, text)
		again, err := replay.ParseTarget(first.Text, now.Add(time.Hour), nil)
		require.NoError(t, err, first.Text)
		require.Equal(t, first, again, text)
	}
	for text, reason := range map[string]string{
		"2026-11-30T02:46:00Z":         "write @2026-11-30T02:46:00.000Z for the first record from then on, or commit-time:2026-11-30T02:46:00.000Z",
		"-1h":                          "it could be the time of records or of commits",
		"@2026-11-30":                  "the time of day is missing",
		"@02:46Z":                      "the date is missing; a plan needs it in full, as in 2026-11-30T02:46Z",
		"@2026-11-30T02:46:00":         "the zone is missing; write 2026-11-30T02:46:00Z for UTC",
		"@2027-01-01T00:00:00Z":        "lies in the future",
		"":                             "a target is missing",
		"end":                          "it is called latest",
		"99999999999999999999":         "too large",
		"group:":                       "the name of the group is missing",
		"group:me@example.org":         "write",
		"@23:00":                       "as in 2026-11-29T23:00Z",
		"@02:60":                       "minute 60 is out of range",
		"@1999-02-30":                  "February 1999 has no day 30",
		"everything":                   "not a target; write one as earliest, latest, current, 700, +50, -50, @2026-11-30T02:46:00Z, commit-time:2026-11-30T02:46:00Z, seq:411, before:412, checkpoint:NAME or group:OTHER",
		"file:offsets.csv":             "a file is read where it lies",
		"@soon":                        "not a time; write one as 2026-11-30T02:46:00Z, -10m, P7D or @1764470760",
		"commit-time:411":              "a bare number could be a sequence or a time; write one as 2026-11-30T02:46:00Z, -10m, P7D or @1764470760",
		"commit-time:1764470760":       "a bare number could be a sequence or a time; write @1764470760",
		"appended:soon":                "not a time; write one as 2026-11-30T02:46:00Z, 02:46Z, 2026-11-30, -10m or @1764470760",
		"commit-time:2026-02-30T0:00Z": "February 2026 has no day 30",
	} {
		_, err := replay.ParseTarget(text, now, nil)
		require.ErrorContains(t, err, reason, text)
	}
}

// What is recommended where a time or a point of a plan could not be read is read there, and what
// plans refuse is not recommended.
func TestWhatPlansRecommend(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 12, 40, 0, time.UTC)
	for text, reason := range map[string]string{
		"yesterday": "not a time; write one as 2026-11-30T02:46:00Z, -10m, P7D, @1764470760, seq:411, before:412 or checkpoint:NAME",
		"411":       "a bare number could be a sequence or a time; write seq:411",
	} {
		_, err := replay.ParsePlanPoint(text, now, nil)
		require.ErrorContains(t, err, reason, text)
		var detail *replay.PointError
		require.ErrorAs(t, err, &detail)
		_, list, _ := strings.Cut(detail.Reason, "write ")
		for _, s := range strings.Split(strings.ReplaceAll(strings.TrimPrefix(list, "one as "), " or ", ", "), ", ") {
			_, err := replay.ParsePlanPoint(s, now, nil)
			require.NoError(t, err, s)
		}
	}
	for _, s := range replay.TargetExamples() {
		_, err := replay.ParseTarget(s, now, nil)
		require.NoError(t, err, s)
	}
}

// A local time that the clocks skip or show twice is no moment.
func TestPlanTimesOfAZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 11, 30, 3, 12, 40, 0, time.UTC)
	at, err := replay.ParsePlanTime("2026-11-30T02:46", now, berlin)
	require.NoError(t, err)
	require.Equal(t, "2026-11-30T01:46:00.000Z", at.String())
	at, err = replay.ParsePlanTime("2026-07-01 02:46:00", now, berlin)
	require.NoError(t, err)
	require.Equal(t, "2026-07-01T00:46:00.000Z", at.String())
	_, err = replay.ParsePlanTime("2026-03-29T02:30", now, berlin)
	require.ErrorContains(t, err, "the clocks of Europe/Berlin skip that time")
	_, err = replay.ParsePlanTime("2026-10-25T02:30", now, berlin)
	require.ErrorContains(t, err, "write 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00")
	_, err = replay.ParsePlanTime("2026-11-30T04:13", now, berlin)
	require.ErrorContains(t, err, "lies in the future")
}

// A plan is a function of what it is given. With its targets in the place of what is committed,
// a group has what it had at the point; a second plan then has nothing to do; and renewing a plan
// of the same facts is the plan.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows, now []ledger.Offset
		had := map[int32]int64{}
		for n := range int32(4) {
			if rapid.Bool().Draw(t, "had") {
				had[n] = rapid.Int64Range(0, 1000).Draw(t, "at")
				rows = append(rows, recordedRow(n, had[n], rapid.Int32Range(-1, 9).Draw(t, "epoch"), rapid.StringN(0, 3, 12).Draw(t, "metadata"), int64(n), hour))
			}
			if rapid.Bool().Draw(t, "has") {
				r := has(n, rapid.Int64Range(0, 1000).Draw(t, "now"))
				r.Metadata = rapid.SampledFrom([]string{"", "x"}).Draw(t, "metadata now")
				now = append(now, r)
			}
		}
		log := history()
		if len(rows) > 0 {
			log = history(commit("g", hour, rows...))
		} else {
			log = history(commit("g", 3*hour, row(0, 1, 0, 3*hour)))
		}
		if len(rows)+len(now) == 0 {
			return
		}
		f := kafkaNow(now...)
		at := replay.Point{Time: millis(2 * hour)}
		make := func(f replay.Facts) *replay.Plan {
			w := wishFor(pointTarget(at))
			w.AllTopics, w.Rules = false, replay.Rules{Direction: replay.DirectionBoth, DeleteAbsent: true}
			p, err := replay.PlanRestore(w, material(t, log, at), f)
			require.NoError(t, err)
			return p
		}
		p := make(f)
		require.Equal(t, p, make(f))
		renewed := p.Renew(f)
		require.Equal(t, p, renewed)
		_, err := p.Holds(renewed)
		require.NoError(t, err)

		after := kafkaNow(applied(p, f)...)
		got := map[int32]int64{}
		for _, r := range after.Groups[0].Rows {
			got[r.Partition] = r.At
		}
		require.Equal(t, had, got)
		if len(had) > 0 {
			require.Zero(t, make(after).Sums().Set+make(after).Sums().Deleted)
		}
	})
}

// applied are the rows of the group when a plan has been carried out.
func applied(p *replay.Plan, f replay.Facts) []ledger.Offset {
	var out []ledger.Offset
	for i := range p.Groups[0].Steps {
		s := &p.Groups[0].Steps[i]
		switch row := f.Groups[0].Row(s.Key()); {
		case s.Action == replay.ActionSet:
			out = append(out, s.Row())
		case s.Action == replay.ActionKeep && row != nil:
			out = append(out, *row)
		}
	}
	return out
}

// What is committed may drift while a plan waits; what the plan does may not change.
func TestPlanRenewed(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "m", 0, hour), recordedRow(1, 200, 7, "", 1, hour)))
	p := restoreTo(t, log, replay.Point{Time: millis(2 * hour)}, kafkaNow(has(0, 10), has(1, 20)), replay.Rules{})
	later := p.Renew(kafkaNow(has(0, 40), has(1, 20)))
	drift, err := p.Holds(later)
	require.NoError(t, err)
	require.Equal(t, replay.Drift{Moved: 1, Forward: 30}, drift)
	require.Equal(t, projection.Value{At: 40, Exists: true}, later.Groups[0].Steps[0].Current)
	require.Equal(t, p.ID, later.ID)

	_, err = p.Holds(p.Renew(kafkaNow(has(0, 101), has(1, 20))))
	require.ErrorIs(t, err, replay.ErrStale)
	require.ErrorContains(t, err, "g t/0: set 100 (back), and was set 100 (forward)")

	f := kafkaNow(has(0, 10), has(1, 20))
	f.Topics[0].ID = uuid.MustParse("11111111-35a7-4fff-8107-0ec9562bf088")
	_, err = p.Holds(p.Renew(f))
	require.ErrorContains(t, err, "deleted and made again")
	f = kafkaNow(has(0, 10), has(1, 20))
	f.Topics[0].Partitions[0].Log.Start = 101
	_, err = p.Holds(p.Renew(f))
	require.ErrorContains(t, err, "1 record gone")
}
