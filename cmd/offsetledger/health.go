package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka"
)

// storeHealth is what was last found of the store. It is looked at beside the questions that
// are answered, since a disk that stands still would hold those up.
type storeHealth struct {
	looked atomic.Pointer[look]
}

// look is one look at the store.
type look struct {
	began time.Time
	ended bool
	err   error // why nothing can be stored
}

const (
	// lookEvery is the time between two looks at the store.
	lookEvery = 500 * time.Millisecond
	// lookPatience is how long one may take until the store is called unwell.
	lookPatience = 5 * time.Second
)

// watch looks at the store until ctx ends.
func (h *storeHealth) watch(ctx context.Context, health func() error) {
	for {
		began := time.Now()
		if last := h.looked.Load(); last == nil || last.err == nil {
			h.looked.Store(&look{began: began})
		}
		h.looked.Store(&look{began: began, ended: true, err: health()})
		if pause(ctx, lookEvery) != nil {
			return
		}
	}
}

// problem is why nothing can be stored, empty if nothing is known to be wrong.
func (h *storeHealth) problem(now time.Time) string {
	l := h.looked.Load()
	switch {
	case l == nil:
	case l.err != nil:
		return fmt.Sprintf("nothing can be stored: %v: make room on the disk and start again", l.err)
	case !l.ended && now.Sub(l.began) > lookPatience:
		return fmt.Sprintf("nothing can be stored: the store has not answered for %d s: look at the disk", int(now.Sub(l.began).Seconds()))
	}
	return ""
}

// status is how the service is doing, as the API tells it. It waits for nothing.
func (s *service) status() api.Status {
	var st kafka.Status // of a capture that waits until the ledger is read
	if tail := s.tail.Load(); tail != nil {
		st = tail.Status()
	}
	out := api.Status{Capturing: true, Ready: st.Ready, Problem: s.problem(&st)}
	out.Behind, out.BehindKnown = st.Behind(time.Now())
	return out
}

// problem is why the service is not well, in one line; empty when it is.
func (s *service) problem(st *kafka.Status) string {
	if p := s.stored.problem(time.Now()); p != "" {
		return p
	}
	switch {
	case s.away():
		return fmt.Sprintf("nothing can be stored: the NATS server at %s is away: it is waited for", s.at)
	case st.LogError != nil:
		return fmt.Sprintf("nothing can be stored: %v: make room on the disk if it is full", st.LogError)
	case st.KafkaError != nil:
		return fmt.Sprintf("Kafka cannot be read: %v", st.KafkaError)
	}
	return ""
}
