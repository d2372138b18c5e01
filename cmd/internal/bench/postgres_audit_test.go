//go:build linux || darwin

package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// auditTable is what an administrator would keep commits in, with the index that answers where a
// group was without a look at the table.
const auditTable = `create table audit (cluster text not null, grp text not null, topic text not null, partition int not null, committed bigint not null,
 leader_epoch int, metadata text, commit_time bigint, effective bigint not null, source_partition int, source_offset bigint);
create index audit_as_of on audit (grp, topic, partition, effective desc) include (committed);`

// auditKeys holds a row for each partition that a group has ever committed to: what a trigger would
// keep, for nothing here.
const auditKeys = `create table keys as select distinct grp, topic, partition from audit; alter table keys add primary key (grp, topic, partition); vacuum analyze;`

// A way is a query for the rows of a group ($1) at a moment ($2), and one for those of all ($1).
type way struct{ name, one, all string }

const lastBefore = ` cross join lateral (select committed from audit a where a.grp = k.grp and a.topic = k.topic and a.partition = k.partition and effective <= `

// auditWays are the ways to ask for the newest row of each key, of which none is always the
// fastest: to read everything and keep the first of each key, to jump from key to key, and to look
// up keys that are known.
var auditWays = []way{
	{
		name: "distinct on",
		one:  `select distinct on (topic, partition) topic, partition, committed from audit where grp = $1 and effective <= $2 order by topic, partition, effective desc`,
		all:  `select distinct on (grp, topic, partition) grp, topic, partition, committed from audit where effective <= $1 order by grp, topic, partition, effective desc`,
	},
	{
		name: "loose scan",
		one: `with recursive k as ((select grp, topic, partition from audit where grp = $1 order by topic, partition limit 1) union all
 select n.* from k cross join lateral (select grp, topic, partition from audit where grp = k.grp and (topic, partition) > (k.topic, k.partition) order by topic, partition limit 1) n)
 select topic, partition, committed from k` + lastBefore + `$2 order by effective desc limit 1) a order by topic, partition`,
		all: `with recursive k as ((select grp, topic, partition from audit order by grp, topic, partition limit 1) union all
 select n.* from k cross join lateral (select grp, topic, partition from audit where (grp, topic, partition) > (k.grp, k.topic, k.partition) order by grp, topic, partition limit 1) n)
 select grp, topic, partition, committed from k` + lastBefore + `$1 order by effective desc limit 1) a`,
	},
	{
		name: "known keys",
		one:  `select topic, partition, committed from keys k` + lastBefore + `$2 order by effective desc limit 1) a where k.grp = $1 order by topic, partition`,
		all:  `select grp, topic, partition, committed from keys k` + lastBefore + `$1 order by effective desc limit 1) a`,
	},
}

// prepareWays has the server plan each query once.
func (p *postgres) prepareWays(b *testing.B) {
	b.Helper()
	for i, w := range auditWays {
		p.do(b, fmt.Sprintf("prepare one_%d(text, bigint) as %s;\nprepare rows_%d(bigint) as %s;\nprepare sum_%d(bigint) as select count(*), sum(committed) from (%s) s;",
			i, w.one, i, w.all, i, w.all))
	}
}

func (p *postgres) one(b *testing.B, way int, group string, at ledger.Time) ([]string, time.Duration) {
	b.Helper()
	ms, _ := at.Millis()
	return p.do(b, fmt.Sprintf("execute one_%d('%s', %d);", way, group, ms))
}

// all asks for the rows of every group, or for their sum, which no client has to be sent.
func (p *postgres) all(b *testing.B, what string, way int, at ledger.Time) ([]string, time.Duration) {
	b.Helper()
	ms, _ := at.Millis()
	return p.do(b, fmt.Sprintf("execute %s_%d(%d);", what, way, ms))
}

// fastest tries every way n times and returns the one with the smallest median.
func fastest(n int, try func(way int) time.Duration) (best int) {
	var least time.Duration
	for w := range auditWays {
		took := make([]time.Duration, n)
		for i := range took {
			took[i] = try(w)
		}
		slices.Sort(took)
		if median := took[n/2]; w == 0 || median < least {
			best, least = w, median
		}
	}
	return best
}

// copyTo is the rows of events as a table takes them, in one transaction.
func copyTo(table string, events []ledger.Event) string {
	var s strings.Builder
	fmt.Fprintf(&s, "copy %s from stdin;\n", table)
	for i := range events {
		ev := &events[i]
		for _, r := range ev.Offsets {
			epoch, _ := r.LeaderEpoch.Get()
			committed, _ := r.CommitTime.Millis()
			effective, _ := r.Effective.Millis()
			fmt.Fprintf(&s, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%d\n", ev.Cluster, ev.Group, r.Topic, r.Partition, r.At, epoch, r.Metadata,
				committed, effective, ev.Source.Partition, r.SourceOffset)
		}
	}
	s.WriteString("\\.\n")
	return s.String()
}
