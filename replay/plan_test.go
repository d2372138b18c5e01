package replay_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// The topic t of all plans here, and the moment that is now in them.
var topicT = uuid.MustParse("6c8169b7-35a7-4fff-8107-0ec9562bf088")

const planNow = 20 * hour

// kafkaNow is a Kafka with a group g, which is empty, and a topic t whose partitions reach from
// 0 to 1,000,000 in epoch 9.
func kafkaNow(rows ...ledger.Offset) replay.Facts {
	g := replay.GroupFacts{Name: "g", Exists: true, State: "Empty", Type: ledger.GroupTypeClassic, Simple: true, Rows: rows}
	topic := replay.TopicFacts{Name: "t", Exists: true, ID: topicT}
	for n := range int32(4) {
		topic.Partitions = append(topic.Partitions, replay.PartitionFacts{
			Partition: n, Log: &replay.Bounds{End: 1_000_000, LastStable: 1_000_000}, Epoch: ledger.EpochOf(9),
		})
	}
	f := replay.Facts{
		KafkaClusterID: "K1", At: millis(planNow), Retention: 7 * 24 * time.Hour, Groups: []replay.GroupFacts{g}, Topics: []replay.TopicFacts{topic},
	}
	f.Sort()
	return f
}

// has is a row that Kafka has now.
func has(partition int32, at int64) ledger.Offset {
	return ledger.Offset{Topic: "t", TopicID: topicT, Partition: partition, At: at}
}

// recorded is a row of the history with all that a row can have.
func recordedRow(partition int32, at int64, epoch int32, metadata string, position, ms int64) ledger.Offset {
	r := row(partition, at, position, ms)
	r.TopicID, r.LeaderEpoch, r.Metadata = topicT, ledger.EpochOf(epoch), metadata
	return r
}

// material is a history up to now, and as of a point.
func material(t require.TestingT, log memory, p replay.Point) replay.Material {
	m := replay.Material{Now: stateAt(t, log, replay.Point{}, replay.OfCluster("c"))}
	m.Then, m.Asked = m.Now, projection.Asked{Now: millis(planNow)}
	if !p.IsNow() {
		m.Then = stateAt(t, log, p, replay.OfCluster("c"))
		m.Asked = projection.Asked{Time: p.Time, Now: millis(planNow), Through: m.Now.Through("c", nil)}
	}
	return m
}

// history is a log that capture has followed until now.
func history(events ...ledger.Event) memory {
	var log memory
	log.add(0, cursor(1000, 1))
	log.add(0, events...)
	log.add(0, cursor(planNow, planNow-1000))
	return log
}

func wishFor(target replay.Target, picks ...replay.Pick) replay.Wish {
	return replay.Wish{Cluster: "c", Groups: []string{"g"}, Target: target, Picks: picks, AllTopics: len(picks) == 0, Now: millis(planNow)}
}

func pointTarget(p replay.Point) replay.Target {
	return replay.Target{Kind: replay.TargetPoint, Point: p, Text: p.String()}
}

func restoreTo(t *testing.T, log memory, p replay.Point, f replay.Facts, rules replay.Rules) *replay.Plan {
	t.Helper()
	w := wishFor(pointTarget(p))
	w.AllTopics, w.Rules = false, rules
	plan, err := replay.PlanRestore(w, material(t, log, p), f)
	require.NoError(t, err)
	return plan
}

func resetTo(t *testing.T, text string, f replay.Facts, rules replay.Rules, picks ...replay.Pick) *replay.Plan {
	t.Helper()
	target, err := replay.ParseTarget(text, time.UnixMilli(planNow), nil)
	require.NoError(t, err)
	w := wishFor(target, picks...)
	w.Rules = rules
	log := history(commit("g", hour, row(0, 1, 0, hour)))
	plan, err := replay.PlanReset(w, material(t, log, target.Point), f)
	require.NoError(t, err)
	return plan
}

func pick(partitions ...int32) replay.Pick { return replay.Pick{Topic: "t", Partitions: partitions} }

// brief is what a step does, in the fewest words.
type brief struct {
	action  replay.Action
	target  int64
	epoch   string
	meta    string
	reasons string // has to be part of the reason
}

func requireSteps(t *testing.T, p *replay.Plan, want ...brief) {
	t.Helper()
	require.Len(t, p.Groups[0].Steps, len(want))
	for i, w := range want {
		s := &p.Groups[0].Steps[i]
		require.Equal(t, w.action.String(), s.Action.String(), "%d: %s", i, s.Reason)
		require.Contains(t, s.Reason, w.reasons)
		if w.action == replay.ActionSet {
			require.Equal(t, w.target, s.Target.At, i)
			require.Equal(t, w.meta, s.Metadata, i)
			if w.epoch == "" {
				w.epoch = "-"
			}
			require.Equal(t, w.epoch, s.LeaderEpoch.String(), i)
		}
	}
}

// A reset to a time after the last record, on partitions that are empty and that begin late: the
// broker has no record there, and answers so. The end is meant, never one past it, never -1.
func TestRST01TimeResetPastTheLastRecordOrOnAnEmptyPartition(t *testing.T) {
	f := kafkaNow(has(0, 3), has(1, 7), has(2, 6))
	bounds := []replay.Bounds{{Start: 0, End: 10}, {Start: 7, End: 7}, {Start: 5, End: 20}}
	for i := range bounds {
		f.Topics[0].Partitions[i].Log = &bounds[i]
	}
	f.Topics[0].Partitions[2].Found = &replay.FoundRecord{Offset: 5, Time: millis(3000)}
	p := resetTo(t, "@1970-01-01T00:00:02Z", f, replay.Rules{}, pick(0, 1, 2))
	require.Equal(t, replay.ClockRecord, p.Clock)
	requireSteps(t, p,
		brief{action: replay.ActionSet, target: 10, reasons: "no record at or after 1970-01-01T00:00:02.000Z, using end"},
		brief{action: replay.ActionKeep, reasons: "no record at or after 1970-01-01T00:00:02.000Z, using end"},
		brief{action: replay.ActionSet, target: 5, reasons: "record of 1970-01-01T00:00:03.000Z"})
	require.EqualValues(t, 7, p.Groups[0].Steps[1].Target.At)

	f.Topics[0].Partitions[0].Found = &replay.FoundRecord{Offset: 0, Time: millis(1)}
	p = resetTo(t, "@1970-01-01T00:00:00.001Z", f, replay.Rules{}, pick(0, 1, 2))
	for i, want := range []int64{0, 7, 5} {
		require.EqualValues(t, want, p.Groups[0].Steps[i].Target.At)
	}
}

// People write lengths of time in every way: those that mean one thing are taken, those that do
// not (a month, a number without its unit) are refused. Now is one moment for a whole plan.
func TestRST03Durations(t *testing.T) {
	now := time.UnixMilli(planNow * 100)
	for _, group := range [][]string{{"7d", "P7D", "168h", "-7d", "-P7D"}, {"PT1H30M", "1h30m", "-1h30m"}, {"-1h", "1h", "PT1H"}, {"0s", "PT0S"}} {
		first, err := replay.ParsePlanTime(group[0], now, nil)
		require.NoError(t, err)
		for _, text := range group[1:] {
			got, err := replay.ParsePlanTime(text, now, nil)
			require.NoError(t, err, text)
			require.Equal(t, first, got, text)
		}
	}
	for _, text := range []string{"P1M", "1h30", "", "P99999999D", "P", "PT", "P1Y", "PT1H30"} {
		_, err := replay.ParsePlanTime(text, now, nil)
		var fault *replay.PointError
		require.ErrorAs(t, err, &fault, text)
		require.Equal(t, text, fault.Text)
	}
	target, err := replay.ParseTarget("@-1h", now, nil)
	require.NoError(t, err)
	require.Equal(t, ledger.AtTime(now.Add(-time.Hour)), target.Time)
	require.Equal(t, "@"+target.Time.String(), target.Text)
}

// A group with members cannot be written to, which clears by itself: the plan is whole, says who
// is in the group, and is not executable. Members of next-generation groups are no different.
func TestRST04GroupIsNotEmpty(t *testing.T) {
	for _, state := range []string{"Stable", "PreparingRebalance", "Assigning"} {
		f := kafkaNow(has(0, 50))
		f.Groups[0].State = state
		f.Groups[0].Members = []ledger.Member{{ID: "billing-8a-1", ClientID: "billing-8a", Host: "10.4.2.11"}}
		p := resetTo(t, "10", f, replay.Rules{}, pick(0))
		require.Equal(t, []string{"group active"}, p.Blocked(), state)
		require.False(t, p.Executable())
		require.False(t, p.Impossible())
		require.Equal(t, []replay.PlanMember{{ID: "billing-8a-1", ClientID: "billing-8a", Host: "10.4.2.11"}}, p.Groups[0].Members)
		requireSteps(t, p, brief{action: replay.ActionSet, target: 10})
	}
	p := resetTo(t, "10", kafkaNow(has(0, 50)), replay.Rules{}, pick(0))
	require.True(t, p.Executable())
}

// The topic was deleted between two look-ups: its partitions are refused with that reason, and
// nothing is said of a missing offset.
func TestRST05TopicGoneIsNoMissingOffset(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "", 0, hour)))
	f := kafkaNow(has(0, 50))
	f.Topics[0] = replay.TopicFacts{Name: "t"}
	p := restoreTo(t, log, replay.Point{Time: millis(2 * hour)}, f, replay.Rules{})
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "the topic is gone"})
	require.True(t, p.Impossible())
}

// A misspelled group would be made by writing to it. It is refused unless that is asked for; a
// topic that does not exist always is; one that the group never read has to be asked for.
func TestRST07TypoMakesANewGroupOrTopicEntry(t *testing.T) {
	log := history(commit("payments", hour, row(0, 1, 0, hour)))
	wish := wishFor(replay.Target{Kind: replay.TargetEarliest, Text: "earliest"}, pick(0))
	wish.Groups = []string{"paymets"}
	f := kafkaNow()
	f.Groups[0] = replay.GroupFacts{Name: "paymets", State: "Dead"}
	var unknown *replay.UnknownError
	_, err := replay.PlanReset(wish, material(t, log, replay.Point{}), f)
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, replay.UnknownError{What: "group", Name: "paymets"}, *unknown)

	wish.Rules.AllowNewGroup = true
	p, err := replay.PlanReset(wish, material(t, log, replay.Point{}), f)
	require.NoError(t, err)
	require.True(t, p.Groups[0].New)
	require.True(t, p.Executable())

	other := replay.TopicFacts{Name: "other", Exists: true, Partitions: []replay.PartitionFacts{{Log: &replay.Bounds{End: 9}}}}
	f = kafkaNow(has(0, 50))
	f.Topics = append(f.Topics, other)
	f.Sort()
	p = resetTo(t, "earliest", f, replay.Rules{}, replay.Pick{Topic: "other", All: true})
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "never committed to this topic"})
	p = resetTo(t, "earliest", f, replay.Rules{AllowNewTopic: true}, replay.Pick{Topic: "other", All: true})
	requireSteps(t, p, brief{action: replay.ActionSet, target: 0})

	wish = wishFor(replay.Target{Kind: replay.TargetEarliest}, replay.Pick{Topic: "ordesr", Partitions: []int32{0}})
	wish.Rules = replay.Rules{AllowNewTopic: true, AllowNewGroup: true}
	_, err = replay.PlanReset(wish, material(t, log, replay.Point{}), kafkaNow(has(0, 50)))
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "ordesr", unknown.Name)
}

// Epoch and metadata belong to an offset. The recorded epoch is written where it can do no harm:
// of epochs that are too high a Java consumer hangs in silence, and goes back to the end of one
// that is too low. An epoch that is not known stays so, and 0 is one.
func TestRST09RestoreCarriesEpochAndMetadata(t *testing.T) {
	v2 := recordedRow(1, 50, -1, "", 1, hour)
	log := history(commit("g", hour, recordedRow(0, 100, 7, "run:1", 0, hour), v2, recordedRow(2, 9, 0, "", 2, hour)))
	f := kafkaNow(has(0, 1), has(1, 1), has(2, 1))
	ends := func(f *replay.Facts, end7 int64) {
		f.Topics[0].Partitions[0].Epochs = []replay.EpochEnd{{Topic: "t", Epoch: ledger.EpochOf(7), End: end7}}
		f.Topics[0].Partitions[2].Epochs = []replay.EpochEnd{{Topic: "t", Partition: 2, Epoch: ledger.EpochOf(0), End: 20}}
	}
	ends(&f, 200)
	at := replay.Point{Time: millis(2 * hour)}
	p := restoreTo(t, log, at, f, replay.Rules{})
	requireSteps(t, p,
		brief{action: replay.ActionSet, target: 100, epoch: "7", meta: "run:1"},
		brief{action: replay.ActionSet, target: 50},
		brief{action: replay.ActionSet, target: 9, epoch: "0"})
	require.Equal(t, ledger.Offset{Topic: "t", TopicID: topicT, At: 100, LeaderEpoch: ledger.EpochOf(7), Metadata: "run:1"}, p.Groups[0].Steps[0].Row())

	t.Run("the epoch ended before the target", func(t *testing.T) {
		f := kafkaNow(has(0, 1), has(1, 1), has(2, 1))
		ends(&f, 99)
		p := restoreTo(t, log, at, f, replay.Rules{})
		require.Equal(t, "-", p.Groups[0].Steps[0].LeaderEpoch.String())
		require.Equal(t, "run:1", p.Groups[0].Steps[0].Metadata)
		require.Contains(t, p.Groups[0].Steps[0].Reason, "without epoch 7: it ended before the target")
	})
	t.Run("the partition is at a lower epoch", func(t *testing.T) {
		f := kafkaNow(has(0, 1), has(1, 1), has(2, 1))
		ends(&f, 200)
		f.Topics[0].Partitions[0].Epoch = ledger.EpochOf(3)
		p := restoreTo(t, log, at, f, replay.Rules{})
		require.Equal(t, "-", p.Groups[0].Steps[0].LeaderEpoch.String())
	})
	t.Run("only metadata and epoch differ", func(t *testing.T) {
		f := kafkaNow(has(0, 100), has(1, 50), has(2, 1))
		ends(&f, 200)
		requireSteps(t, restoreTo(t, log, at, f, replay.Rules{}),
			brief{action: replay.ActionSet, target: 100, epoch: "7", meta: "run:1"},
			brief{action: replay.ActionKeep, reasons: "already there"},
			brief{action: replay.ActionSet, target: 9, epoch: "0"})
	})
}

// A saved position that the log does not have: below its start, above its end, or of another life
// of the topic. All three are told apart, and nothing is written unless it was asked to go to
// the nearest end, where it is no recorded row any more.
func TestRST10RestoreToOffsetsThatTheLogNoLongerHas(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 100, 7, "m", 0, hour), recordedRow(1, 12000, 7, "m", 1, hour)))
	f := kafkaNow(has(0, 6000), has(1, 10))
	f.Topics[0].Partitions[0].Log = &replay.Bounds{Start: 5000, LastStable: 9000, End: 9000}
	f.Topics[0].Partitions[1].Log = &replay.Bounds{LastStable: 9000, End: 9000}
	at := replay.Point{Time: millis(2 * hour)}
	p := restoreTo(t, log, at, f, replay.Rules{Direction: replay.DirectionBoth})
	requireSteps(t, p,
		brief{action: replay.ActionRefuse, reasons: "4900 records gone"},
		brief{action: replay.ActionRefuse, reasons: "the log ends at 9000, 3000 before the target"})
	require.True(t, p.Impossible())

	p = restoreTo(t, log, at, f, replay.Rules{Direction: replay.DirectionBoth, Clamp: true})
	requireSteps(t, p,
		brief{action: replay.ActionSet, target: 5000, reasons: "4900 records gone"},
		brief{action: replay.ActionSet, target: 9000, reasons: "3000 beyond the end"})
	require.True(t, p.Executable())

	f.Topics[0].ID = uuid.MustParse("11111111-35a7-4fff-8107-0ec9562bf088")
	p = restoreTo(t, log, at, f, replay.Rules{Direction: replay.DirectionBoth, Clamp: true})
	requireSteps(t, p,
		brief{action: replay.ActionRefuse, reasons: "deleted and made again"},
		brief{action: replay.ActionRefuse, reasons: "deleted and made again"})
}

// Offsets of one cluster mean other records in another. That is refused by the name of both; who
// insists is still held to the bounds of the log.
func TestRST13OffsetsOfAnotherCluster(t *testing.T) {
	captured := cursor(1000, 1)
	captured.Cursor.KafkaClusterID = "K-A"
	log := history(captured, commit("g", hour, recordedRow(0, 500, 1, "", 0, hour)))
	f := kafkaNow(has(0, 0))
	f.KafkaClusterID = "K-B"
	f.Topics[0].Partitions[0].Log = &replay.Bounds{}
	at := replay.Point{Time: millis(2 * hour)}
	p := restoreTo(t, log, at, f, replay.Rules{})
	require.Len(t, p.Refused, 1)
	require.Contains(t, p.Refused[0], "K-A")
	require.Contains(t, p.Refused[0], "K-B")
	p = restoreTo(t, log, at, f, replay.Rules{AnyCluster: true})
	require.Empty(t, p.Refused)
	requireSteps(t, p, brief{action: replay.ActionRefuse, reasons: "the log ends at 0"})
}

// A static member that stopped stays in its group until its session ends: the plan says that it
// holds the group, and until when at the latest.
func TestRST14StaticMemberThatIsGoneButStillCounted(t *testing.T) {
	f := kafkaNow(has(0, 50))
	f.Groups[0].State = "Stable"
	f.Groups[0].Members = []ledger.Member{{ID: "m", InstanceID: "billing-s1", SessionTimeoutMillis: 45_000}}
	p := resetTo(t, "10", f, replay.Rules{}, pick(0))
	require.Equal(t, []string{"group active"}, p.Blocked())
	require.Equal(t, millis(planNow+45_000), p.Groups[0].Members[0].HeldUntil)
}

// Producers set the times of records: they are not sorted, and one of the year 2099 is found by
// every later time. The broker's answer counts, with the record's own time beside it.
func TestRST16RecordTimesOutOfOrder(t *testing.T) {
	f := kafkaNow(has(0, 3), has(1, 3))
	f.Topics[0].Partitions[0].Found = &replay.FoundRecord{Offset: 1, Time: millis(500)}
	far := ledger.AtTime(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))
	f.Topics[0].Partitions[1].Found = &replay.FoundRecord{Offset: 1, Time: far}
	requireSteps(t, resetTo(t, "@1970-01-01T00:00:00.300Z", f, replay.Rules{}, pick(0, 1)),
		brief{action: replay.ActionSet, target: 1, reasons: "record of 1970-01-01T00:00:00.500Z"},
		brief{action: replay.ActionSet, target: 1, reasons: "record of 2099-01-01T00:00:00.000Z"})
}

// A reset from 900 to 5 was a mistake. To just before it is 900 again, by its incident and by
// its point in the log alike.
func TestRST18UndoingABadRestore(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 900, 7, "m", 0, hour), recordedRow(1, 30, 7, "", 1, hour)),
		commit("g", 2*hour, row(0, 5, 2, 2*hour)))
	f := kafkaNow(has(0, 5), has(1, 30))
	bad := log[2]
	require.EqualValues(t, 5, bad.Event.Offsets[0].At)
	p := restoreTo(t, log, replay.Point{Seq: bad.Seq - 1}, f, replay.Rules{})
	requireSteps(t, p,
		brief{action: replay.ActionSet, target: 900, meta: "m", reasons: "the brokers do not say where it ended"},
		brief{action: replay.ActionKeep})
	skips, replays, ok := p.Groups[0].Steps[0].Moves()
	require.True(t, ok)
	require.Equal(t, [2]int64{895, 0}, [2]int64{skips, replays})

	found, err := replay.IncidentsAt(context.Background(), log, bad.Seq)
	require.NoError(t, err)
	repair, err := replay.ReadRepair(context.Background(), log, found)
	require.NoError(t, err)
	w := wishFor(replay.Target{})
	w.AllTopics, w.Repair, w.Groups = false, repair, []string{repair.Group}
	p, err = replay.PlanRestore(w, material(t, log, replay.Point{}), f)
	require.NoError(t, err)
	requireSteps(t, p, brief{action: replay.ActionSet, target: 900, meta: "m"})
	require.Equal(t, []ledger.TopicPartition{{Topic: "t", Partition: 1}}, p.Groups[0].Untouched)
	require.Equal(t, repair.ID, p.Incident)

	// The group has passed the target since: it is left alone.
	p, err = replay.PlanRestore(w, material(t, log, replay.Point{}), kafkaNow(has(0, 901), has(1, 30)))
	require.NoError(t, err)
	requireSteps(t, p, brief{action: replay.ActionKeep, reasons: "already past target"})
}
