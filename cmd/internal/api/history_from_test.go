package api_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// objects are a store of snapshots in memory. It counts what is read.
type objects struct {
	mu   sync.Mutex
	all  map[string][]byte
	read int
}

func (o *objects) Put(_ context.Context, name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[name] = slices.Clone(data)
	return nil
}

func (o *objects) Get(_ context.Context, name string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read++
	b, ok := o.all[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

func (o *objects) Delete(_ context.Context, name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, name)
	return nil
}

func (o *objects) Names(context.Context) (names []string, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.all {
		names = append(names, name)
	}
	return names, nil
}

// With a snapshot at any sequence the history of a night, from any event or moment of it on, and
// its incidents are the same to the last byte as without.
func TestTheStoryIsTheSameBehindASnapshot(t *testing.T) {
	var with, without api.Config
	d := start(t, func(c *api.Config) { without = *c })
	last := apitest.Night(t, d.ledger)
	require.NoError(t, without.View.WaitFor(t.Context(), last))
	var moments []string
	ids := map[string]bool{}
	fold, view := projection.NewState(), projection.NewIncidents()
	store := &objects{all: map[string][]byte{}}
	var err error
	with = without
	with.Snapshots, err = replay.OpenSnapshots(t.Context(), replay.SnapshotConfig{Store: store, Incarnation: d.ledger.Incarnation(), Pick: d.ledger.Pick})
	require.NoError(t, err)
	for rec, err := range d.ledger.Read(t.Context(), 1, last, ledger.Filter{}) {
		require.NoError(t, err)
		changes, err := fold.Apply(rec)
		require.NoError(t, err)
		view.Apply(fold, &rec, changes)
		if rec.Seq%4 == 0 {
			moments = append(moments, rec.Event.Time.String())
			_, err = with.Snapshots.Take(t.Context(), replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(fold, view) }, Now: rec.Appended})
			require.NoError(t, err)
		}
	}
	for in := range view.All("") {
		ids[in.ID()] = true
	}
	require.NotEmpty(t, ids)
	paths := []string{"/api/v1/history"}
	for seq := uint64(1); seq <= last; seq += 3 {
		paths = append(paths, fmt.Sprintf("/api/v1/history?since=seq:%d", seq), fmt.Sprintf("/api/v1/history?from=%d", seq))
	}
	for _, at := range moments {
		paths = append(paths, "/api/v1/history?since="+at, "/api/v1/history?limit=2&since="+at)
	}
	for id := range ids {
		paths = append(paths, "/api/v1/incidents/show?id="+id)
	}
	answer := func(c api.Config, path string) string {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1"
		api.NewHandler(c).ServeHTTP(w, r)
		require.Equal(t, 200, w.Code, "%s: %s", path, w.Body)
		return w.Body.String()
	}
	read := store.read
	for _, path := range paths {
		require.Equal(t, answer(without, path), answer(with, path), path)
	}
	require.Greater(t, store.read, read, "snapshots are used")
}
