package api

import (
	"net/url"
	"strconv"

	"github.com/offsetledger/offsetledger/projection"
)

// Names of the query parameters.
const (
	paramCluster    = "cluster"
	paramGroup      = "group"
	paramTopic      = "topic"
	paramPartition  = "partition"
	paramAt         = "at"
	paramSince      = "since"
	paramUntil      = "until"
	paramMovement   = "movement"
	paramNot        = "not"
	paramKind       = "kind"
	paramState      = "state"
	paramSort       = "sort"
	paramLagAbove   = "lag-above"
	paramReasonless = "without-reason"
	paramID         = "id"
	paramLimit      = "limit"
	paramNext       = "next"
	paramFollow     = "follow"
	paramFrom       = "from"
	paramAround     = "around"
	paramTo         = "to"
	paramApart      = "partitions"
	paramPoints     = "points"
	paramTimeLag    = "time-lag"
)

// Query is a question: the union of what the routes take. The zero value of a field is "not
// given". It is written into a URL by [Query.Values] and read back by parseQuery, so that
// client and server cannot disagree.
type Query struct {
	Cluster    string
	Group      *string // nil: not given; the empty string is the empty group id
	Topics     []string
	Partitions []int32
	At         string // points, see replay.ParsePoint
	Since      string
	Until      string
	Movements  []projection.Movement
	Not        []projection.Movement
	Kinds      []string // of events or incidents
	State      string   // of groups
	Sort       string   // of groups: lag, moved or name
	LagAbove   *int64
	Reasonless bool // incidents that nobody gave a reason for
	ID         string
	Limit      *int     // nil: all; of history and incidents, it counts events and incidents
	Next       string   // from the answer before
	Follow     bool     // go on with what comes
	From       Position // resume after it
	Around     uint64   // of history: the events next to this sequence

	Points  *int64 // of the lag over a range: spans of time; nil: as many as usual
	TimeLag bool   // of a group: also since when what it has to read waits

	// Of a comparison: the groups (none: all), its two moments, and whether to tell partitions apart.
	Groups        []string
	FromPoint, To string
	PerPartition  bool
}

// Values spells q as query parameters.
func (q Query) Values() url.Values {
	v := values{}
	v.text(paramCluster, Spell(q.Cluster))
	if q.Group != nil {
		v.add(paramGroup, Spell(*q.Group)) // also the empty one
	}
	listed(v, paramGroup, q.Groups, Spell)
	listed(v, paramTopic, q.Topics, Spell)
	listed(v, paramPartition, q.Partitions, func(p int32) string { return strconv.Itoa(int(p)) })
	for _, p := range [][2]string{
		{paramAt, q.At}, {paramSince, q.Since}, {paramUntil, q.Until}, {paramFrom, q.FromPoint}, {paramTo, q.To},
		{paramState, q.State}, {paramSort, q.Sort}, {paramID, q.ID}, {paramNext, q.Next},
	} {
		v.text(p[0], p[1])
	}
	listed(v, paramMovement, q.Movements, projection.Movement.String)
	listed(v, paramNot, q.Not, projection.Movement.String)
	listed(v, paramKind, q.Kinds, func(kind string) string { return kind })
	number(v, paramLagAbove, q.LagAbove)
	number(v, paramLimit, q.Limit)
	number(v, paramPoints, q.Points)
	v.yes(paramReasonless, q.Reasonless)
	v.yes(paramFollow, q.Follow)
	v.yes(paramTimeLag, q.TimeLag)
	v.yes(paramApart, q.PerPartition)
	if q.From != (Position{}) {
		v.add(paramFrom, q.From.String())
	}
	if q.Around != 0 {
		v.add(paramAround, strconv.FormatUint(q.Around, 10))
	}
	return url.Values(v)
}

// values are query parameters in the making: what was not given is not written.
type values url.Values

func (v values) add(name, value string) { url.Values(v).Add(name, value) }

func (v values) text(name, value string) {
	if value != "" {
		v.add(name, value)
	}
}

func (v values) yes(name string, is bool) {
	if is {
		v.add(name, "true")
	}
}

func listed[T any](v values, name string, list []T, spell func(T) string) {
	for _, x := range list {
		v.add(name, spell(x))
	}
}

func number[N int | int64](v values, name string, n *N) {
	if n != nil {
		v.add(name, strconv.FormatInt(int64(*n), 10))
	}
}
