package api

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// parseQuery reads the parameters that a route takes; any other is refused.
func parseQuery(raw string, takes []string) (Query, *Problem) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Query{}, problem(CodeBadParameter, "the query of the URL cannot be read: write name=value&name=value, "+
			"and in a value %%25 for a percent sign, %%3B for a semicolon, %%26 for an ampersand")
	}
	for name, given := range values {
		if !slices.Contains(takes, name) {
			return Query{}, problem(CodeUnknownParameter, "unknown parameter %s; this route takes %s", Spell(name), strings.Join(takes, ", "))
		}
		if slices.Contains(given, "") && name != paramGroup && name != paramTopic {
			return Query{}, problem(CodeBadParameter, "%s: a value is missing; leave the parameter out to ask without it", name)
		}
	}
	p := parser{values: values}
	q := Query{
		Cluster:    p.text(paramCluster),
		Topics:     p.texts(paramTopic),
		Partitions: p.partitions(),
		At:         p.one(paramAt),
		Since:      p.one(paramSince),
		Until:      p.one(paramUntil),
		Movements:  p.movements(paramMovement),
		Not:        p.movements(paramNot),
		Kinds:      p.list(paramKind),
		State:      p.state(),
		Sort:       p.word(paramSort, "name", "lag", "moved"),
		LagAbove:   p.count(paramLagAbove),
		Reasonless: p.yes(paramReasonless),
		ID:         p.one(paramID),
		Next:       p.one(paramNext),
		Follow:     p.yes(paramFollow),
	}
	if slices.Contains(takes, paramTo) { // a comparison, of which group and from are others
		q.Groups, q.FromPoint, q.To, q.PerPartition = p.texts(paramGroup), p.one(paramFrom), p.one(paramTo), p.yes(paramApart)
		return q, p.fault
	}
	if values.Has(paramGroup) {
		group := p.text(paramGroup)
		q.Group = &group
	}
	if n := p.count(paramLimit); n != nil {
		limit := int(min(*n, 1<<31-1))
		q.Limit = &limit
	}
	q.Points, q.TimeLag = p.count(paramPoints), p.yes(paramTimeLag)
	q.From = p.position(paramFrom)
	q.Around = p.sequence(paramAround)
	return q, p.fault
}

// parser reads values one by one and keeps the first fault.
type parser struct {
	values url.Values
	fault  *Problem
}

func (p *parser) fail(name, format string, args ...any) {
	if p.fault == nil {
		p.fault = problem(CodeBadParameter, name+": "+format, args...)
	}
}

// one is the value of a parameter that can be given once.
func (p *parser) one(name string) string {
	v := p.values[name]
	if len(v) > 1 {
		p.fail(name, "given %d times, it can be given once", len(v))
	}
	return p.values.Get(name)
}

func (p *parser) text(name string) string { return p.spelled(name, p.one(name)) }

func (p *parser) spelled(name, value string) string {
	raw, err := ParseText(value)
	if err != nil {
		p.fail(name, "%v", err)
	}
	return raw
}

func (p *parser) texts(name string) []string {
	var out []string
	for _, v := range p.values[name] {
		out = append(out, p.spelled(name, v))
	}
	return out
}

// list is the words of a parameter that can be given several times, or once with commas.
func (p *parser) list(name string) []string {
	var out []string
	for _, v := range p.values[name] {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

func (p *parser) partitions() []int32 {
	var out []int32
	for _, v := range p.list(paramPartition) {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			p.fail(paramPartition, "%q is no partition; write a number from 0 to %d", v, math.MaxInt32)
		}
		out = append(out, int32(n))
	}
	return out
}

func (p *parser) movements(name string) []projection.Movement {
	var out []projection.Movement
	for _, v := range p.list(name) {
		m, ok := projection.ParseMovement(v)
		if !ok {
			p.fail(name, "%q is no movement; they are %s", v, strings.Join(MovementNames(), ", "))
		}
		out = append(out, m)
	}
	return out
}

// state is the state of groups that is asked for, in whatever case.
func (p *parser) state() string {
	v := p.one(paramState)
	var names []string
	for s := projection.GroupStateUnknown; s <= projection.GroupStateDeleted; s++ {
		if strings.EqualFold(v, s.String()) {
			return s.String()
		}
		names = append(names, s.String())
	}
	if v != "" {
		p.fail(paramState, "%q is no state of a group; they are %s", v, strings.Join(names, ", "))
	}
	return ""
}

// IncidentKinds are the words that the parameter kind of incidents takes: movements that
// somebody has to look at.
func IncidentKinds() []string {
	return slices.DeleteFunc(MovementNames(), func(name string) bool {
		m, _ := projection.ParseMovement(name)
		return !m.Notable()
	})
}

// KindNames are the words that the parameter kind of events takes.
func KindNames() []string {
	var names []string
	for k := ledger.KindUpdated; k <= ledger.KindSnapshot; k++ {
		names = append(names, k.String())
	}
	return names
}

// MovementNames are the words that the parameters movement and not take.
func MovementNames() []string {
	var names []string
	for m := projection.MovementAdvance; m <= projection.MovementRecreated; m++ {
		names = append(names, m.String())
	}
	return names
}

func (p *parser) word(name string, words ...string) string {
	v := p.one(name)
	if v != "" && !slices.Contains(words, v) {
		p.fail(name, "%q is none of %s", v, strings.Join(words, ", "))
	}
	return v
}

func (p *parser) count(name string) *int64 {
	v := p.one(name)
	if v == "" {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		p.fail(name, "%q is not a whole number from 0 to %d", v, int64(math.MaxInt64))
		return nil
	}
	return &n
}

// sequence is the sequence of an event, 0 if none was given.
func (p *parser) sequence(name string) uint64 {
	v := p.one(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n == 0 {
		p.fail(name, "%q is not the sequence of an event; write one as in 412", v)
	}
	return n
}

func (p *parser) position(name string) Position {
	v := p.one(name)
	if v == "" {
		return Position{}
	}
	at, ok := parsePosition(v)
	if !ok {
		p.fail(name, "%q is no place in a stream; write the sequence of an event, as in 412, or of history that and a row of it, as in 412.7", v)
	}
	return at
}

func (p *parser) yes(name string) bool {
	switch v := p.one(name); v {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	default:
		p.fail(name, "%q is neither true nor false", v)
		return false
	}
}
