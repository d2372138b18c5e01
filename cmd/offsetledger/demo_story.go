package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/offsetledger/offsetledger/projection"
)

// demoStory is what happens in the demo, and what is said of it.
type demoStory struct {
	shop *demoShop
	view *projection.View
	out  io.Writer
	ask  func(words ...string) string // spells a question as it has to be typed
}

// The group that the story is about, and what it reads.
const (
	demoGroup = "billing"
	demoTopic = "orders"
)

// reread is how many orders billing reads twice before somebody stops it.
const reread = 310

func (d *demoStory) play(ctx context.Context) error {
	if err := d.shop.fill(ctx); err != nil {
		return err
	}
	if err := d.read(ctx); err != nil {
		return err
	}
	seq, err := d.rewind(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	read, err := d.shop.consume(ctx, demoGroup, demoTopic, reread)
	if err != nil {
		return err
	}
	d.say(demoGroup, "reads again from 0: %s twice so far, then stopped", count(read, "record"))
	d.questions(seq)
	return d.goOn(ctx, int64(read))
}

// questions prints what to ask about the event with sequence seq.
func (d *demoStory) questions(seq uint64) {
	fmt.Fprintf(d.out, `Three questions. In another terminal:
  where was it?  %s
  who moved it?  %s
  put it back:   %s
                 %s
                 (asks first; billing starts again by itself)
`, d.ask("group", "describe", demoGroup, "--at", fmt.Sprintf("seq:%d", seq-1)),
		d.ask("incidents", "--group", demoGroup),
		d.ask("restore", "plan", "--incident", fmt.Sprintf("i%d", seq)),
		d.ask("restore", "apply", "--reason", "rewound"))
}

// goOn waits until somebody puts billing forward from where it stopped, having committed that
// many orders, and lets it read on from there until ctx ends.
func (d *demoStory) goOn(ctx context.Context, stopped int64) error {
	at, err := d.putForward(ctx, stopped)
	if err != nil {
		return err
	}
	d.say(demoGroup, "put back: %d -> %d, starts again", stopped, at)
	return ignoreCount(d.shop.consume(ctx, demoGroup, demoTopic, 0))
}

// putForward waits until billing stays at more than it had committed when it stopped: a tool may
// take several requests and cannot put back a group that is active, and what was put back may be
// taken back at once.
func (d *demoStory) putForward(ctx context.Context, stopped int64) (at int64, err error) {
	forward := func(s *projection.State) bool { at = d.committed(s); return at > stopped }
	for at <= stopped {
		if err := d.until(ctx, forward); err != nil {
			return 0, err
		}
		for settled := int64(0); settled != at; {
			settled = at
			if err := pause(ctx, time.Second); err != nil {
				return 0, err
			}
			d.view.Read(func(s *projection.State) { at = d.committed(s) })
		}
	}
	return at, nil
}

// read lets billing catch up and then leave, as in a deploy.
func (d *demoStory) read(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- ignoreCount(d.shop.consume(reading, demoGroup, demoTopic, 0)) }()
	caughtUp := func(s *projection.State) bool { return d.committed(s) >= demoBacklog*int64(demoTopics[demoTopic]) }
	if err := d.until(ctx, caughtUp); err != nil {
		return errors.Join(err, waitFor(stop, done))
	}
	if err := pause(ctx, 2*time.Second); err != nil {
		return errors.Join(err, waitFor(stop, done))
	}
	var at int64
	var lag projection.TotalLag
	d.view.Read(func(s *projection.State) { at, lag = d.committed(s), s.TotalLag(demoCluster, demoGroup) })
	d.say(demoGroup, "reads %s (%d partitions)    committed %d, lag %d", demoTopic, demoTopics[demoTopic], at, lag.Records)
	if err := waitFor(stop, done); err != nil {
		return err
	}
	empty := func(s *projection.State) bool {
		g, ok := s.Group(demoCluster, demoGroup)
		return ok && g.State == projection.GroupStateEmpty
	}
	if err := d.until(ctx, empty); err != nil {
		return err
	}
	d.say(demoGroup, "last member left (a deploy)")
	return pause(ctx, time.Second)
}

func waitFor(stop func(), done <-chan error) error {
	stop()
	return <-done
}

// rewind moves billing back from outside and waits until the ledger has seen it. It returns
// the sequence of that event.
func (d *demoStory) rewind(ctx context.Context) (uint64, error) {
	var before int64
	d.view.Read(func(s *projection.State) { before = d.committed(s) })
	if err := d.shop.rewindFromOutside(ctx, demoGroup, demoTopic); err != nil {
		return 0, err
	}
	var rewind projection.Incident
	for found := false; !found; {
		d.view.ReadIncidents(func(_ *projection.State, in *projection.Incidents) {
			rewind, found = in.Last(demoCluster, demoGroup)
		})
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
	d.say(demoGroup, "REWIND %s 0-%d: %d -> 0, no member (an admin tool?)    <- seq %d",
		demoTopic, demoTopics[demoTopic]-1, before, rewind.Seq)
	return rewind.Seq, nil
}

// committed is the sum of billing's committed offsets.
func (d *demoStory) committed(s *projection.State) int64 {
	var sum int64
	for _, p := range s.Partitions(demoCluster, demoGroup) {
		sum += p.Committed.At
	}
	return sum
}

// until waits until the folded history is as wanted.
func (d *demoStory) until(ctx context.Context, wanted func(*projection.State) bool) error {
	for {
		var ok bool
		d.view.Read(func(s *projection.State) { ok = wanted(s) })
		if ok {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// say prints a line of the story.
func (d *demoStory) say(group, format string, args ...any) {
	fmt.Fprintf(d.out, "%s  %-8s  %s\n", time.Now().UTC().Format("15:04:05Z"), group, fmt.Sprintf(format, args...))
}
