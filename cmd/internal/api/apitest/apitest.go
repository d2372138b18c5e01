// Package apitest writes known stories into a ledger, so that tests of what is asked and shown
// have something real to ask. It is support for tests and part of no program.
package apitest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// Cluster is the Kafka cluster of all stories.
const Cluster = "prod"

// SourceTopic is the id of __consumer_offsets.
var SourceTopic = uuid.MustParse("5a7b5d0e-0000-4000-8000-000000000001")

// Appender is where a story is written; a stream.Log is one.
type Appender interface {
	Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error)
}

// Story is written event by event: each gets the sequence after the one before.
type Story struct {
	t      testing.TB
	to     Appender
	now    ledger.Time // of the next event
	offset int64       // in the source partition
	seq    uint64
}

// Line is the source partition in which every group of a story lives.
const Line = 7

// Begin starts a story at a moment, RFC 3339.
func Begin(t testing.TB, to Appender, at string) *Story {
	s := &Story{t: t, to: to}
	s.At(at)
	return s
}

// At sets the clock of the story.
func (s *Story) At(at string) *Story {
	s.t.Helper()
	moment, err := time.Parse(time.RFC3339Nano, at)
	require.NoError(s.t, err)
	s.now = ledger.AtTime(moment)
	return s
}

// AtTime is At for a moment that was computed.
func (s *Story) AtTime(at time.Time) *Story {
	s.now = ledger.AtTime(at)
	return s
}

// Seq is the sequence of the last event.
func (s *Story) Seq() uint64 { return s.seq }

// Append stores one event as it is, but for what it leaves out: id, cluster and time.
func (s *Story) Append(ev ledger.Event) uint64 {
	s.t.Helper()
	id, err := uuid.NewV7()
	require.NoError(s.t, err)
	ev.ID = id
	if ev.Cluster == "" {
		ev.Cluster = Cluster
	}
	if !ev.Time.Known() {
		ev.Time = s.now
	}
	receipt, err := s.to.Append(context.Background(), []ledger.Event{ev})
	require.NoError(s.t, err)
	s.seq = receipt.Last
	return s.seq
}

func (s *Story) source() ledger.Source {
	s.offset++
	return ledger.Source{Kind: ledger.SourceTail, Partition: Line, LeaderEpoch: ledger.EpochOf(5), Offset: s.offset}
}

// Began notes that capture began, and has read nothing yet.
func (s *Story) Began() uint64 { return s.cursor(ledger.SourceLine{Partition: Line, Next: 0}) }

// Cursor notes that capture has read everything up to now.
func (s *Story) Cursor() uint64 {
	return s.cursor(ledger.SourceLine{Partition: Line, Next: s.offset + 1, MaxEffective: s.now, CompleteThrough: s.now})
}

func (s *Story) cursor(line ledger.SourceLine) uint64 {
	return s.Append(ledger.Event{
		Kind: ledger.KindCursor, Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{
			Shard: ledger.CursorShardAll, KafkaClusterID: "kafka-1", TopicID: SourceTopic,
			Complete: true, Lines: []ledger.SourceLine{line},
		},
	})
}

// Topic notes that a topic has so many partitions; 0 is a topic that was deleted.
func (s *Story) Topic(name string, partitions int32) uint64 {
	return s.Append(ledger.Event{
		Kind: ledger.KindTopic, Topic: name, Source: ledger.Source{Kind: ledger.SourceTail},
		TopicInfo: &ledger.TopicInfo{Partitions: partitions, Deleted: partitions == 0},
	})
}

// Watermarks notes how far the partitions of a topic reach, from partition 0 on.
func (s *Story) Watermarks(topic string, start int64, ends ...int64) uint64 {
	marks := &ledger.Watermarks{Shard: ledger.WatermarkShard(topic)}
	for p, end := range ends {
		marks.Rows = append(marks.Rows, ledger.Watermark{Topic: topic, Partition: int32(p), LogStart: start, LastStable: end, LogEnd: end})
	}
	return s.Append(ledger.Event{Kind: ledger.KindWatermarks, Source: ledger.Source{Kind: ledger.SourceTail}, Watermarks: marks})
}

// Members notes who is in a group; nobody is an empty group.
func (s *Story) Members(group string, generation int32, clients ...string) uint64 {
	m := &ledger.Membership{
		Type: ledger.GroupTypeClassic, RecordType: 2, Generation: generation, ProtocolType: "consumer", Protocol: "range", StateTime: s.now,
	}
	for i, client := range clients {
		m.Members = append(m.Members, ledger.Member{
			ID: client + "-id", ClientID: client, Host: "/10.4.2." + string(rune('1'+i)),
		})
	}
	return s.Append(ledger.Event{Kind: ledger.KindGroup, Group: group, Source: s.source(), Membership: m})
}

// Commit notes a commit of partitions 0 and up of a topic. Metadata is what consumers send;
// an admin tool sends neither it nor a leader epoch.
func (s *Story) Commit(group, topic, metadata string, offsets ...int64) uint64 {
	ev := ledger.Event{Kind: ledger.KindCommitted, Group: group, Source: s.source()}
	for p, at := range offsets {
		row := ledger.Offset{
			Topic: topic, Partition: int32(p), At: at, Metadata: metadata, CommitTime: s.now, Effective: s.now, SourceOffset: s.offset + int64(p),
		}
		if metadata != "" {
			row.LeaderEpoch = ledger.EpochOf(3)
		}
		ev.Offsets = append(ev.Offsets, row)
	}
	s.offset += int64(len(offsets))
	return s.Append(ev)
}

// Delete notes that the offsets of partitions 0 to n-1 of a topic went away.
func (s *Story) Delete(group, topic string, n int, cause ledger.Cause) uint64 {
	ev := ledger.Event{Kind: ledger.KindDeleted, Group: group, Source: s.source(), Cause: cause, CauseInferred: true}
	for p := range n {
		ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: topic, Partition: int32(p), Effective: s.now, SourceOffset: s.offset + int64(p)})
	}
	s.offset += int64(n)
	return s.Append(ev)
}

// Now is the time of the next event.
func (s *Story) Now() ledger.Time { return s.now }
