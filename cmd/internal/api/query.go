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
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set(paramCluster, Spell(q.Cluster))
	if q.Group != nil {
		v.Set(paramGroup, Spell(*q.Group))
	}
	for _, t := range q.Topics {
		v.Add(paramTopic, Spell(t))
	}
	for _, p := range q.Partitions {
		v.Add(paramPartition, strconv.FormatInt(int64(p), 10))
	}
	set(paramAt, q.At)
	set(paramSince, q.Since)
	set(paramUntil, q.Until)
	for _, m := range q.Movements {
		v.Add(paramMovement, m.String())
	}
	for _, m := range q.Not {
		v.Add(paramNot, m.String())
	}
	for _, k := range q.Kinds {
		v.Add(paramKind, k)
	}
	set(paramState, q.State)
	set(paramSort, q.Sort)
	if q.LagAbove != nil {
		v.Set(paramLagAbove, strconv.FormatInt(*q.LagAbove, 10))
	}
	if q.Reasonless {
		v.Set(paramReasonless, "true")
	}
	set(paramID, q.ID)
	if q.Limit != nil {
		v.Set(paramLimit, strconv.Itoa(*q.Limit))
	}
	set(paramNext, q.Next)
	if q.Follow {
		v.Set(paramFollow, "true")
	}
	if q.From != (Position{}) {
		v.Set(paramFrom, q.From.String())
	}
	if q.Around != 0 {
		v.Set(paramAround, strconv.FormatUint(q.Around, 10))
	}
	if q.Points != nil {
		v.Set(paramPoints, strconv.FormatInt(*q.Points, 10))
	}
	if q.TimeLag {
		v.Set(paramTimeLag, "true")
	}
	for _, g := range q.Groups {
		v.Add(paramGroup, Spell(g))
	}
	set(paramFrom, q.FromPoint)
	set(paramTo, q.To)
	if q.PerPartition {
		v.Set(paramApart, "true")
	}
	return v
}
