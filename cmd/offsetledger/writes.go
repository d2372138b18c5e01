package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/replay"
)

// writing is what a daemon may write to Kafka, and who has to agree.
type writing struct {
	allowed  bool
	approval []string // patterns of cluster/group
}

func (w *writing) register(f *pflag.FlagSet) {
	f.BoolVar(&w.allowed, "allow-writes", false, "carry plans out in Kafka when asked to; without it the daemon only reads there")
	f.StringArrayVar(&w.approval, "require-approval", nil,
		"plans about these groups, as in 'prod/*', are carried out only if somebody else has agreed with restore approve; can be given several times")
}

func (w *writing) validate() error {
	for _, pattern := range w.approval {
		if _, err := path.Match(pattern, ""); err != nil || !strings.Contains(pattern, "/") {
			return usagef("--require-approval %q: write cluster/group, in which * stands for anything, as in 'prod/*'", pattern)
		}
	}
	return nil
}

// needed reports whether somebody else has to agree to a plan about a group. A slash in the name
// of a group is one of its letters.
func (w *writing) needed(cluster, group string) bool {
	flat := func(s string) string { return strings.ReplaceAll(ledger.Spell(s), "/", "\x00") }
	return slices.ContainsFunc(w.approval, func(pattern string) bool {
		c, g, _ := strings.Cut(pattern, "/")
		inCluster, _ := path.Match(c, flat(cluster)) // validate has tried them
		inGroup, _ := path.Match(strings.ReplaceAll(g, "/", "\x00"), flat(group))
		return inCluster && inGroup
	})
}

// errReadOnly is why a daemon carries no plan out.
var errReadOnly = errors.New("this daemon only reads from Kafka: start it with --allow-writes, or write from here with -B")

// writes is what the API carries plans out with.
func (s *service) writes() *api.Writes {
	w := &api.Writes{Log: s.log, Broker: func(cluster string) (replay.Broker, error) {
		if !s.may.allowed {
			return nil, errReadOnly
		}
		a := s.asked.Load()
		if a == nil || a.cluster != cluster {
			return nil, fmt.Errorf("this daemon does not capture cluster %s", cluster)
		}
		return a.brokers, nil
	}}
	if len(s.may.approval) > 0 {
		w.NeedsApproval = s.may.needed
	}
	return w
}

// recordOnly is what a ledger that was opened without a daemon can do: record.
func recordOnly(l *stream.Log) *api.Writes {
	return &api.Writes{Log: l, Broker: func(string) (replay.Broker, error) {
		return nil, errors.New("this ledger is open without a daemon: say with -B which Kafka is to be written to")
	}}
}
