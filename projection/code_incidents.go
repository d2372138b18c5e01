package projection

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Append appends all incidents to b, as docs/snapshot.md says. The same incidents give the same
// bytes.
func (x *Incidents) Append(b []byte) []byte {
	c := coder{b: b}
	x.code(&c)
	return c.b
}

// LoadIncidents is the inverse of [Incidents.Append]. It fails with [ledger.ErrDamaged].
func LoadIncidents(b []byte) (*Incidents, error) {
	x := NewIncidents()
	c := coder{b: b, reading: true, names: map[string]string{}}
	if x.code(&c); len(c.b) > 0 {
		c.fail("%d bytes are left over", len(c.b))
	}
	if c.err != nil {
		return nil, c.err
	}
	return x, nil
}

// code goes over the incidents, and over what is going on in each group, which names them by
// their place. Some are named that were let go of: they come after the others.
func (x *Incidents) code(c *coder) {
	c.time(&x.since)
	held := len(x.all)
	all := x.all
	if !c.reading {
		all = x.reachable()
	}
	list(c, &all, func(in **Incident) {
		if c.reading {
			*in = &Incident{}
		}
		(*in).code(c)
	})
	if held = c.countUpTo(held, len(all)); c.reading {
		x.all = all[:held:held]
	}
	places := make(map[*Incident]int, len(all))
	for i, in := range all {
		places[in] = i
	}
	name := func(in **Incident) {
		i := c.countUpTo(places[*in], len(all)-1)
		if c.reading && c.err == nil {
			*in = all[i]
		}
	}
	table(c, &x.groups, compareGroups, func(k *groupKey) { c.text(&k.cluster); c.text(&k.group) }, func(gi **groupIncidents) {
		if c.reading {
			*gi = &groupIncidents{}
		}
		table(c, &(*gi).last, cmp.Compare[Movement], func(m *Movement) { number(c, m) }, name)
		list(c, &(*gi).open, name)
		some := (*gi).any != nil
		if c.flag(&some); some {
			name(&(*gi).any)
		}
		if (*gi).last == nil {
			(*gi).last = map[Movement]*Incident{}
		}
		if c.reading {
			x.open += len((*gi).open)
		}
	})
	if x.groups == nil {
		x.groups = map[groupKey]*groupIncidents{}
	}
}

// reachable are the incidents, and those that only a group still knows.
func (x *Incidents) reachable() []*Incident {
	all := slices.Clone(x.all)
	seen := make(map[*Incident]bool, len(all))
	for _, in := range all {
		seen[in] = true
	}
	add := func(in *Incident) {
		if in != nil && !seen[in] {
			seen[in] = true
			all = append(all, in)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(x.groups), compareGroups) {
		gi := x.groups[k]
		for _, m := range slices.Sorted(maps.Keys(gi.last)) {
			add(gi.last[m])
		}
		for _, in := range gi.open {
			add(in)
		}
		add(gi.any)
	}
	return all
}

func compareGroups(a, b groupKey) int {
	return cmp.Or(strings.Compare(a.cluster, b.cluster), strings.Compare(a.group, b.group))
}

// countUpTo is a number of at most most.
func (x *coder) countUpTo(n, most int) int {
	u := uint64(n)
	x.uint(&u)
	if x.reading && (most < 0 || u > uint64(most)) {
		x.fail("%d, and at most %d make sense", u, most)
		return 0
	}
	return int(u)
}

func (in *Incident) code(x *coder) {
	x.uint(&in.Seq)
	x.uint(&in.LastSeq)
	x.text(&in.Cluster)
	x.text(&in.Group)
	number(x, &in.Kind)
	x.time(&in.Time)
	x.time(&in.Until)
	in.Partitions = x.whole(in.Partitions)
	x.int(&in.Replayed)
	x.int(&in.Skipped)
	in.Uncounted = x.whole(in.Uncounted)
	if x.reading {
		in.Who = &Who{}
	}
	in.Who.code(x)
	x.text(&in.Evidence)
	x.text(&in.Reason)
	x.text(&in.Actor)
	x.flag(&in.ActorVerified)
	x.text(&in.Plan)
	number(x, &in.Cause)
	x.flag(&in.CauseInferred)
	x.time(&in.EmptySince)
	x.time(&in.ReadingSince)
	x.int(&in.ReadAgain)
	list(x, &in.more, x.uint)
	list(x, &in.open, func(m *move) {
		x.text(&m.topic)
		number(x, &m.partition)
		x.int(&m.from)
		x.int(&m.to)
		x.int(&m.reached)
	})
}

// whole is a number that is not negative.
func (x *coder) whole(n int) int {
	v := int64(n)
	if x.int(&v); v < 0 {
		x.fail("%d of something", v)
	}
	return int(v)
}

func (w *Who) code(x *coder) {
	number(x, &w.Kind)
	x.text(&w.ClientID)
	x.text(&w.MemberID)
	x.text(&w.Host)
	x.flag(&w.Inferred)
	x.flag(&w.Bare)
	list(x, &w.Evidence, x.text)
}
