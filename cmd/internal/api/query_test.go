package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/projection"
)

// What a client writes into a URL is what a handler reads, also the empty group and names that hold
// anything.
func TestAQueryComesBackAsItWasWritten(t *testing.T) {
	group, zero := "", int64(0)
	compared := []string{paramCluster, paramGroup, paramFrom, paramTo, paramMovement, paramApart}
	others := []string{
		paramCluster, paramGroup, paramTopic, paramPartition, paramAt, paramSince, paramUntil, paramMovement, paramNot, paramKind, paramState, paramSort,
		paramLagAbove, paramReasonless, paramID, paramLimit, paramNext, paramFollow, paramFrom, paramAround, paramPoints, paramTimeLag,
	}
	for _, c := range []struct {
		q     Query
		takes []string
	}{
		{Query{}, others},
		{Query{
			Cluster: "prod", Group: &group, Topics: []string{"a&b", "\x00"}, Partitions: []int32{0, 7}, At: "seq:4", Since: "-1h", Until: "2026-11-30",
			Movements: []projection.Movement{projection.MovementRewind, projection.MovementJump}, Not: []projection.Movement{projection.MovementAdvance},
			Kinds: []string{"committed", "gap"}, State: "Empty", Sort: "lag", LagAbove: &zero, Reasonless: true, ID: "i4", Limit: new(int),
			Next: "7", Follow: true, From: Position{Seq: 9, Row: 2, Within: true}, Around: 12, Points: &zero, TimeLag: true,
		}, others},
		{Query{
			Cluster: "\xff", Groups: []string{"a", ""}, FromPoint: "before:9", To: "now", PerPartition: true,
			Movements: []projection.Movement{projection.MovementExpired},
		}, compared},
	} {
		got, fault := parseQuery(c.q.Values().Encode(), c.takes)
		require.Nil(t, fault)
		require.Equal(t, c.q, got)
	}
	require.Empty(t, Query{}.Values())
}
