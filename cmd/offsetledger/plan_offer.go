package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// whoWrites is what has to be known to carry a plan out where nothing said how to reach Kafka.
const whoWrites = "      add -B broker:9092 to write from here: a daemon that was started without --allow-writes only reads"

// offerPlan writes a plan, and to people what can be done with it next, also from here if k says
// how to reach Kafka.
func (a *app) offerPlan(ctx context.Context, src *source, p *replay.Plan, k config.Flags) error {
	if err := a.printPlan(p); err != nil || !a.text() {
		return err
	}
	next := a.planNext(p, k)
	if next == "" {
		return nil
	}
	fmt.Fprintf(a.stdout, "next: %s\n", next)
	if t := p.Sums(); !p.Impossible() && t.Set+t.Deleted > 0 && !a.namesKafka(k) && !writesItself(ctx, src, p.Cluster) {
		fmt.Fprintln(a.stdout, whoWrites)
	}
	return nil
}

// writesItself reports whether whoever answers can carry plans for a cluster out. One that does not
// say so cannot.
func writesItself(ctx context.Context, src *source, cluster string) bool {
	l, err := src.Ledger(ctx)
	return err == nil && slices.Contains(l.Writes, api.Text(cluster))
}

// ruleWord is how reasons name what a plan has to be allowed: by the name that it has in the rules of
// the plan, and in a request.
var ruleWord = regexp.MustCompile(`\brule ([a-z]+(?:_[a-z]+)*)`)

// flagged names in such a text the flags of the command line, which are called as the rules are.
func flagged(text string) string {
	return ruleWord.ReplaceAllStringFunc(text, func(word string) string {
		return "--" + strings.ReplaceAll(strings.TrimPrefix(word, "rule "), "_", "-")
	})
}

// planNext is what can be done with a plan.
func (a *app) planNext(p *replay.Plan, k config.Flags) string {
	t := p.Sums()
	apply := a.typedWrite(k, "restore", "apply", p.ID)
	const reason = ` --reason "…"`
	switch {
	case p.Impossible():
		return withoutRefused(p)
	case t.Set+t.Deleted == 0:
		return nothingToDo(p)
	case len(p.Blocked()) > 0:
		var active []string
		for i := range p.Groups {
			if len(p.Groups[i].Blocked) > 0 {
				active = append(active, api.Shown(p.Groups[i].Group))
			}
		}
		return "stop " + strings.Join(active, ", ") + ", then  " + apply + " --wait-empty 10m" + reason
	}
	return apply + reason
}

// nothingToDo says of a plan that moves nothing whether all is where it is to be, or is kept for
// another reason.
func nothingToDo(p *replay.Plan) string {
	kept := 0
	for i := range p.Groups {
		for j := range p.Groups[i].Steps {
			if s := &p.Groups[i].Steps[j]; s.Current != s.Target {
				kept++
			}
		}
	}
	if kept == 0 {
		return "nothing, all is where it is to be"
	}
	return "nothing: of " + count(kept, "partition") + " not at NEW-OFFSET, NOTE says why they are kept"
}

// withoutRefused says how to plan for all but what is refused, of a plan for one group in which
// that alone is in the way.
func withoutRefused(p *replay.Plan) string {
	if len(p.Refused) > 0 || len(p.Groups) != 1 || len(p.Groups[0].Refused) > 0 {
		return ""
	}
	byTopic := map[string][]ledger.TopicPartition{}
	for i := range p.Groups[0].Steps {
		if s := &p.Groups[0].Steps[i]; s.Action == replay.ActionSet || s.Action == replay.ActionDelete {
			byTopic[s.Topic] = append(byTopic[s.Topic], s.Key())
		}
	}
	var words []string
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		list := strings.TrimPrefix(replay.PartitionsText(byTopic[topic]), api.Spell(topic)+" ")
		words = append(words, "--topics "+shellWord(api.Spell(topic)+":"+list))
	}
	if len(words) == 0 {
		return ""
	}
	return "plan without what is refused, with " + strings.Join(words, " ")
}
