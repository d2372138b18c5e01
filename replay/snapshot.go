package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Store keeps the objects that snapshots are made of, by name. Names are letters, digits, `/`,
// `-` and `_`.
type Store interface {
	// Put writes an object, in place of one of that name: whole or not at all.
	Put(ctx context.Context, name string, data []byte) error
	// Get reads an object. One that is not there is [fs.ErrNotExist].
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, name string) error
	// Names returns the names of all objects, in no order.
	Names(ctx context.Context) ([]string, error)
}

// ErrNoSnapshot is a snapshot that is not there, or that cannot be used.
var ErrNoSnapshot = errors.New("no such snapshot")

// Snapshots are states of a ledger that were written down, so that a replay need not begin with
// the first record. They are a cache: any of them can be deleted, and one that cannot be trusted
// is passed over with a warning. Every answer is the same with and without.
//
// The nil *Snapshots has none. Its methods may be called from any goroutine.
type Snapshots struct {
	store       Store
	incarnation uuid.UUID
	logger      *slog.Logger

	taking sync.Mutex // held while one is written or deleted
	mu     sync.Mutex // guards what follows
	known  []*known   // by sequence

	pick  func(ctx context.Context, seqs []uint64) iter.Seq2[ledger.Record, error]
	trail *projection.Trail

	// What questions about single groups needed last, by snapshot or by range.
	parts   recent[part]
	trails  recent[*projection.Trail]
	commons recent[*common]
}

// known is a snapshot with a manifest that is in order.
type known struct {
	Manifest
	checked  bool        // the log has the record that it ends with
	unlisted atomic.Bool // its list of events cannot be used
}

// SnapshotConfig says whose snapshots they are.
type SnapshotConfig struct {
	Store       Store
	Incarnation uuid.UUID    // of the stream: sequences mean something only within one
	Logger      *slog.Logger // nil logs nothing
	// Trail is that of a view of the whole log, see [projection.View.Leave]. With it each snapshot
	// lists the events since the one before, by group. Nil: none does.
	Trail *projection.Trail
	// Pick reads single records, in the order of sequences given; [stream.Log.Pick] is one. With it
	// a question about one group reads the events that are listed. Nil: they are looked for.
	Pick func(ctx context.Context, seqs []uint64) iter.Seq2[ledger.Record, error]
}

// OpenSnapshots reads the manifests of all snapshots of a ledger. One that is half-written,
// damaged, of a newer version or of another stream is passed over with a warning.
func OpenSnapshots(ctx context.Context, cfg SnapshotConfig) (*Snapshots, error) {
	s := &Snapshots{store: cfg.Store, incarnation: cfg.Incarnation, logger: cfg.Logger, pick: cfg.Pick, trail: cfg.Trail}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	names, err := s.store.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	slices.Sort(names)
	dirs := map[string]bool{} // whether there is a manifest
	for _, name := range names {
		dir, part, _ := strings.Cut(name, "/")
		dirs[dir] = dirs[dir] || part == manifestName
	}
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for dir, whole := range dirs {
		if !whole {
			s.logger.Warn("snapshot is half-written and not used", "snapshot", dir)
			continue
		}
		g.Go(func() error {
			m, err := s.manifest(reading, dir)
			if err != nil {
				s.logger.Warn("snapshot is not used", "snapshot", dir, "err", err)
				return nil
			}
			s.add(m)
			return nil
		})
	}
	if err := errors.Join(g.Wait(), ctx.Err()); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	return s, nil
}

// manifest reads and checks the manifest of a snapshot.
func (s *Snapshots) manifest(ctx context.Context, id string) (Manifest, error) {
	b, err := s.store.Get(ctx, id+"/"+manifestName)
	if err != nil {
		return Manifest{}, err
	}
	m, err := decodeManifest(b)
	switch {
	case err != nil:
		return Manifest{}, err
	case m.ID() != id:
		return Manifest{}, fmt.Errorf("its manifest is that of %s", m.ID())
	case m.Incarnation != s.incarnation:
		return Manifest{}, fmt.Errorf("it is of another stream: of incarnation %s, and this is %s", m.Incarnation, s.incarnation)
	}
	return m, nil
}

func (s *Snapshots) add(m Manifest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, &known{Manifest: m})
	slices.SortFunc(s.known, func(a, b *known) int { return cmp.Compare(a.Seq, b.Seq) })
}

// forget takes a snapshot out of use. What is stored of it stays.
func (s *Snapshots) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts.forget(id)
	s.trails.forget(id)
	s.known = slices.DeleteFunc(s.known, func(k *known) bool { return k.ID() == id })
}

// List returns the snapshots that can be used, the newest first.
func (s *Snapshots) List() []Manifest {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Manifest
	for _, k := range slices.Backward(s.known) {
		out = append(out, k.Manifest)
	}
	return out
}

// Find returns the snapshot with an id, or [ErrNoSnapshot].
func (s *Snapshots) Find(id string) (Manifest, error) {
	for _, m := range s.List() {
		if m.ID() == id {
			return m, nil
		}
	}
	return Manifest{}, fmt.Errorf("%w: %q", ErrNoSnapshot, id)
}

// Delete removes a snapshot, whether it can be used or not: its manifest first, so that what a
// crash leaves is half a snapshot and not one without its parts. It is [ErrNoSnapshot] if
// nothing is stored of it.
func (s *Snapshots) Delete(ctx context.Context, id string) error {
	s.taking.Lock()
	defer s.taking.Unlock()
	return s.delete(ctx, id)
}

func (s *Snapshots) delete(ctx context.Context, id string) error {
	fail := func(err error) error { return fmt.Errorf("delete snapshot %s: %w", id, err) }
	names, err := s.store.Names(ctx)
	if err != nil {
		return fail(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, id+"/") })
	if len(names) == 0 {
		return fmt.Errorf("%w: %q", ErrNoSnapshot, id)
	}
	s.handOn(ctx, id)
	s.forget(id)
	if err := s.store.Delete(ctx, id+"/"+manifestName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	for _, name := range names {
		if err := s.store.Delete(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	return nil
}
