package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Looking at the store can take as long as the disk stands still. Whether it is well is told at
// once all the same, and it is not, when nobody has heard from it for long.
func TestTheHealthOfTheStoreIsToldAtOnce(t *testing.T) {
	var h storeHealth
	require.Empty(t, h.problem(time.Now()), "nothing is known yet")
	looks, answers := make(chan struct{}), make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.watch(ctx, func() error {
			looks <- struct{}{}
			return <-answers
		})
	}()
	<-looks
	require.Empty(t, h.problem(time.Now()))
	require.Equal(t, "nothing can be stored: the store has not answered for 60 s: look at the disk", h.problem(time.Now().Add(time.Minute)))
	answers <- nil
	<-looks
	require.Empty(t, h.problem(time.Now()))
	answers <- errors.New("no space left on device")
	<-looks
	require.Equal(t, "nothing can be stored: no space left on device: make room on the disk and start again", h.problem(time.Now()),
		"until a look finds it well")
	stop()
	answers <- nil
	<-done
	require.Empty(t, h.problem(time.Now().Add(time.Hour)))
}

// Kafka is replaced by something that takes connections and never answers, which takes seconds
// to find out. All that time /healthz and /readyz answer at once, and in the end they say what
// it is.
func TestHealthAnswersWhileKafkaIsLookedInto(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startKafka(t)
	dir := filepath.Join(t.TempDir(), "ledger")
	first := serveKafka(t, dir, fake.Addrs()[0])
	commitAt(t, fake, "g", 1)
	first.captures("g", "t", 1)
	require.Equal(t, exitDone, first.stop())

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	d := answering(t, launchServe(t, dir, silent.Addr().String(), "--cluster", "local"))
	slowest := time.Duration(0)
	d.until("it says what is wrong", func() bool {
		began := time.Now()
		code, body := d.get("/healthz")
		ready, _ := d.get("/readyz")
		slowest = max(slowest, time.Since(began))
		require.Equal(t, http.StatusServiceUnavailable, ready)
		return code == http.StatusServiceUnavailable && strings.Contains(body, "Kafka cannot be read") &&
			strings.Contains(body, "does not answer as Kafka: check host and port")
	})
	require.Less(t, slowest, time.Second, "as looking into Kafka takes seconds")
}
