package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/brokers"
	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/replay"
)

// envActor names who acts.
const envActor = "OFFSETLEDGER_ACTOR"

// planFlags say what a plan is to do, and who asks for it.
type planFlags struct {
	kafka         config.Flags
	groups        []string
	to            string
	topics        []string
	allPartitions bool
	zone          string
	actor, reason string
	req           api.PlanRequest
}

// addPlanFlags adds the flags that restore plan and reset plan share.
func (a *app) addPlanFlags(cmd *cobra.Command, p *planFlags) {
	cmd.ValidArgsFunction = a.completeGroups
	f := cmd.Flags()
	f.StringArrayVar(&p.groups, "group", nil, `a group, as the argument; can be given several times; "" is the group with the empty id`)
	f.StringArrayVarP(&p.topics, "topics", "t", nil, "only these partitions, as in orders:0,1 or orders:0-3; can be given several times")
	f.BoolVar(&p.allPartitions, "all-partitions", false, "every partition of the topics that --topics names without any")
	f.StringVar(&p.zone, "tz", "", "time zone of times that have none, as in Europe/Berlin")
	f.StringVar(&p.req.Direction, "direction", "", "forward, back or both: which way offsets may be moved")
	f.BoolVar(&p.req.Clamp, "clamp", false, "go to the nearest end of the log where the target is not in it any more")
	f.BoolVar(&p.req.AcceptExpiry, "accept-expiry", false, "also if the broker can remove the offsets within 15 minutes")
	f.BoolVar(&p.req.AllowNewGroup, "allow-new-group", false, "make the group if it does not exist")
	f.BoolVar(&p.req.ForceStreams, "force-streams", false, "also for a group of Kafka Streams")
	f.StringVar(&p.reason, "reason", "", "why, to be stored with the plan")
	a.actorFlag(cmd, &p.actor)
	a.kafkaFlags(cmd, &p.kafka)
	a.sourceFlags(cmd)
	a.outputFlag(cmd, outKafkaCSV)
}

// actorFlag adds --actor.
func (a *app) actorFlag(cmd *cobra.Command, actor *string) {
	cmd.Flags().StringVar(actor, "actor", "", "who does it (default $"+envActor+", or user@host)")
}

// actorOf is who acts, as is claimed.
func (a *app) actorOf(actor string) string {
	if actor != "" {
		return actor
	}
	if named := a.getenv(envActor); named != "" {
		return named
	}
	name := a.getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// request is what the command line asks for. What is counted from now is counted here, once.
func (a *app) request(p *planFlags, command string, args []string) (api.PlanRequest, error) {
	r := p.req
	r.Command, r.Cluster = command, api.Text(a.cluster)
	r.Actor, r.Reason = api.Text(a.actorOf(p.actor)), api.Text(p.reason)
	if len(args) > 0 && len(p.groups) > 0 {
		return r, usagef("the group is given twice, as an argument and as --group")
	}
	for _, text := range append(args, p.groups...) {
		name, err := nameOf(text)
		if err != nil {
			return r, err
		}
		r.Groups = append(r.Groups, api.Text(*name))
	}
	if r.Direction != "" {
		if err := oneOf("direction", r.Direction, "forward", "back", "both"); err != nil {
			return r, err
		}
	}
	var err error
	if r.Topics, err = topicSets(p.topics, p.allPartitions); err != nil {
		return r, err
	}
	zone, err := a.zoneOf(p.zone)
	if err != nil {
		return r, err
	}
	if p.to == "" {
		return r, nil
	}
	if command == replay.CommandRestore {
		point, err := replay.ParsePlanPoint(p.to, a.now(), zone)
		if err != nil {
			return r, usagef("--to %w", err)
		}
		r.To = point.String()
		a.note("to %s", r.To)
		return r, nil
	}
	return r, a.resetTarget(p.to, zone, &r)
}

// resetTarget reads where a reset goes, from a file too.
func (a *app) resetTarget(to string, zone *time.Location, r *api.PlanRequest) error {
	if path, ok := strings.CutPrefix(to, "file:"); ok {
		b, err := readInput(path)
		if err != nil {
			return usagef("--to %s: %w", to, err)
		}
		rows, err := replay.ParseKafkaCSV(b)
		if err == nil {
			err = replay.CheckRows(rows, groupNames(r.Groups))
		}
		if err != nil {
			return usagef("--to %s: %w", to, err)
		}
		r.To, r.Rows = "file", api.FileRows(rows)
		return nil
	}
	t, err := replay.ParseTarget(to, a.now(), zone)
	if err != nil {
		return usagef("--to %w", err)
	}
	if r.To = t.Text; r.To != to {
		a.note("to %s", r.To)
	}
	return nil
}

func groupNames(texts []api.Text) (names []string) {
	for _, t := range texts {
		names = append(names, string(t))
	}
	return names
}

func (a *app) zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, usagef("--tz %s: no such time zone; write one as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

// mostPartitions is how many partitions one range can name: Kafka has no topic with more.
const mostPartitions = 1 << 20

// topicSets reads the values of --topics. A topic without partitions is all of them only if that
// is said.
func topicSets(texts []string, all bool) ([]api.TopicSet, error) {
	var sets []api.TopicSet
	seen := map[api.Text]bool{}
	whole := false
	for _, text := range texts {
		name, list, listed := strings.Cut(text, ":")
		raw, err := api.ParseText(name)
		if err != nil {
			return nil, usagef("--topics %s: %w", text, err)
		}
		set := api.TopicSet{Topic: api.Text(raw), All: !listed}
		switch {
		case raw == "":
			return nil, usagef("--topics %q: the name of the topic is missing", text)
		case seen[set.Topic]:
			return nil, usagef("--topics %s: topic %s is given twice; name all its partitions at once, as in %s:0,1", text, name, name)
		case listed && all:
			return nil, usagef("--topics %s names partitions and --all-partitions means every one: give one of the two", text)
		case !listed && !all:
			return nil, usagef("--topics %s: say which partitions, as in %s:0,1, or --all-partitions", text, name)
		}
		if listed {
			if set.Partitions, err = partitionList(list); err != nil {
				return nil, usagef("--topics %s: %w", text, err)
			}
		}
		whole = whole || !listed
		seen[set.Topic] = true
		sets = append(sets, set)
	}
	if all && !whole {
		return nil, usagef("--all-partitions is of a topic: name it with --topics")
	}
	return sets, nil
}

// partitionList reads 0,1,4-6; what is named twice counts once.
func partitionList(list string) ([]int32, error) {
	var out []int32
	seen := map[int32]bool{}
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 32)
		if err != nil || first < 0 {
			return nil, fmt.Errorf("%q is no partition; write a number from 0 to %d", part, math.MaxInt32)
		}
		last, err := strconv.ParseInt(to, 10, 32)
		if err != nil || last < first || last-first >= mostPartitions {
			return nil, fmt.Errorf("%q is no range of partitions; write one as 0-3", part)
		}
		for n := first; n <= last; n++ {
			if !seen[int32(n)] {
				seen[int32(n)] = true
				out = append(out, int32(n))
			}
		}
	}
	return out, nil
}

// namesKafka reports whether the command line or the environment says how to reach Kafka: then
// this program asks it, with its own rights.
func (a *app) namesKafka(flags config.Flags) bool {
	return flags.BootstrapServers != "" || flags.CommandConfig != "" || a.getenv(config.EnvBootstrapServers) != "" || a.getenv(config.EnvCommandConfig) != ""
}

// factsPatience is how long Kafka can take to answer what a plan has to know.
const factsPatience = 30 * time.Second

// silence is how long nothing is said while Kafka is asked.
const silence = 2 * time.Second

// sayWhenSlow says that somebody has not answered, if that takes a while. What it returns ends it, and
// has to be called.
func (a *app) sayWhenSlow(who string) (answered func()) {
	said := make(chan struct{})
	t := time.AfterFunc(silence, func() {
		defer close(said)
		a.note("%s has not answered yet, for %s", who, silence)
	})
	return func() {
		if !t.Stop() {
			<-said
		}
	}
}

// kafkaFacts asks Kafka what inquire says, if Kafka is named here; nil if it is not.
func (a *app) kafkaFacts(ctx context.Context, flags config.Flags, inquire func() (replay.Inquiry, error)) (*replay.Facts, error) {
	if !a.namesKafka(flags) {
		return nil, nil
	}
	k, err := a.loadKafka(flags)
	if err != nil {
		return nil, err
	}
	inquiry, err := inquire()
	if err != nil {
		return nil, err
	}
	client, err := kafkaClient(k)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	defer a.sayWhenSlow("Kafka at " + k.String())()
	wait, cancel := context.WithTimeout(ctx, factsPatience)
	defer cancel()
	facts, err := brokers.New(client, a.now).Facts(wait, inquiry)
	if err != nil {
		return nil, fmt.Errorf("ask Kafka at %s: %w", k, err)
	}
	return &facts, nil
}
