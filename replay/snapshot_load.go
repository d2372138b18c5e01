package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Newest returns the state of the newest snapshot, and the incidents up to it, for a view of the
// whole ledger to go on from. It is false if there is none that can be used.
func (s *Snapshots) Newest(ctx context.Context, r Reader) (*projection.State, *projection.Incidents, bool, error) {
	last, err := r.Last(ctx)
	if err != nil {
		return nil, nil, false, fmt.Errorf("newest snapshot: %w", err)
	}
	s.forgetAhead(last)
	var in *projection.Incidents
	st, ok, err := s.newestServing(ctx, Point{}, last, func(k *known) (*projection.State, error) {
		st, err := s.load(ctx, r, k, &Scope{})
		if err == nil {
			in, err = s.incidents(ctx, k)
		}
		return st, err
	})
	return st, in, ok, err
}

// forgetAhead forgets the snapshots of records that the log has lost with its end: until it has come
// as far again, none would be due.
func (s *Snapshots) forgetAhead(last uint64) {
	for _, m := range s.List() {
		if m.Seq > last {
			s.logger.Warn("snapshot is not used: the log has lost its end since", "snapshot", m.ID(), "last", last)
			s.forget(m.ID())
		}
	}
}

// incidents reads the incidents of a snapshot. One without is taken for one that knows of none.
func (s *Snapshots) incidents(ctx context.Context, k *known) (*projection.Incidents, error) {
	row, ok := k.part(incidentsPart)
	if !ok {
		return projection.NewIncidents(), nil
	}
	p, err := s.read(ctx, k.ID(), row)
	if err != nil {
		return nil, err
	}
	in, err := projection.LoadIncidents(p)
	if err != nil {
		return nil, fmt.Errorf("%w: part %s: %w", errUnusable, incidentsPart, err)
	}
	return in, nil
}

// start returns the state of the newest snapshot from which a replay up to end can go on for a
// point: nothing in it is later than the point. A narrow scope is widened to the topics that its
// group has offsets in there.
func (s *Snapshots) start(ctx context.Context, r Reader, p Point, end uint64, sc *Scope) (*projection.State, bool, error) {
	return s.newestServing(ctx, p, end, func(k *known) (*projection.State, error) { return s.load(ctx, r, k, sc) })
}

// errUnusable is a snapshot that can never be used. Whatever else goes wrong with one may pass.
var errUnusable = errors.New("it cannot be used")

// unusable reports whether an error proves that a snapshot, or its list, can never be used.
func unusable(err error) bool {
	return errors.Is(err, errUnusable) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ledger.ErrDamaged)
}

// newestServing loads the newest snapshot that serves. One that cannot be read is passed over with
// a warning, and forgotten if it can never be used.
func (s *Snapshots) newestServing(ctx context.Context, p Point, end uint64, load func(*known) (*projection.State, error)) (*projection.State, bool, error) {
	if s == nil {
		return nil, false, nil
	}
	s.mu.Lock()
	all := slices.Clone(s.known)
	s.mu.Unlock()
	for _, k := range slices.Backward(all) {
		if k.Seq > end || p.Time.Known() && k.Latest().After(p.Time) {
			continue
		}
		st, err := load(k)
		if err == nil {
			return st, true, nil
		}
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if _, gone := s.Find(k.ID()); gone == nil { // else it was deleted meanwhile
			s.logger.Warn("snapshot is not used", "snapshot", k.ID(), "err", err)
			if unusable(err) {
				s.forget(k.ID())
			}
		}
	}
	return nil, false, nil
}

// load reads of a snapshot what a scope needs.
func (s *Snapshots) load(ctx context.Context, r Reader, k *known, sc *Scope) (*projection.State, error) {
	if err := s.check(ctx, r, k); err != nil {
		return nil, err
	}
	l := projection.NewLoader(k.Seq, k.Appended, k.Latest())
	l.Named(k.Named())
	if err := s.loadParts(ctx, l, k, *sc, func(name string) bool { return !ofTopics(name) && sc.needs(name) }); err != nil {
		return nil, err
	}
	// Which topics are needed, the group tells.
	sc.widen(l.State())
	if err := s.loadParts(ctx, l, k, *sc, func(name string) bool { return ofTopics(name) && sc.needs(name) }); err != nil {
		return nil, err
	}
	if n := groupsIn(l.State()); !sc.ofCluster && !sc.ofGroup && n != k.Groups {
		return nil, fmt.Errorf("%w: it holds %d groups, and its manifest says %d", errUnusable, n, k.Groups)
	}
	return l.State(), nil
}

func groupsIn(s *projection.State) (n int) {
	for _, cluster := range s.Clusters() {
		for range s.GroupNames(cluster) {
			n++
		}
	}
	return n
}

// loadParts reads those parts of a snapshot that are wanted.
func (s *Snapshots) loadParts(ctx context.Context, l *projection.Loader, k *known, sc Scope, wanted func(name string) bool) error {
	var rows []ManifestRow
	for _, row := range k.Parts {
		if wanted(row.Name) {
			rows = append(rows, row)
		}
	}
	parts := make([]part, len(rows))
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i, row := range rows {
		g.Go(func() (err error) {
			parts[i], err = s.part(reading, k.ID(), row, sc)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, p := range parts {
		if err := p.load(l, rows[i].Name, sc); err != nil {
			return fmt.Errorf("%w: part %s: %w", errUnusable, rows[i].Name, err)
		}
	}
	return nil
}

// check makes sure, once, that the log is the one that the snapshot was taken of: it may have
// lost its end, and have gone on with other records.
func (s *Snapshots) check(ctx context.Context, r Reader, k *known) error {
	s.mu.Lock()
	checked := k.checked
	s.mu.Unlock()
	if checked {
		return nil
	}
	err := fmt.Errorf("%w: the log does not have the record that it ends with", errUnusable)
	for rec, e := range r.Read(ctx, k.Seq, k.Seq, ledger.Filter{}) {
		switch {
		case e != nil:
			err = e
		case rec.Appended.Equal(k.Appended):
			err = nil
		default:
			err = fmt.Errorf("%w: it ends with a record stored at %s, and record %d of the log was at %s: the log has lost its end since",
				errUnusable, k.Appended.Format(timeFormat), k.Seq, rec.Appended.Format(timeFormat))
		}
	}
	if err == nil {
		s.mu.Lock()
		k.checked = true
		s.mu.Unlock()
	}
	return err
}

// timeFormat is RFC 3339 with nanoseconds.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// part returns one part. Those that a question about one group needs are held for the next one.
func (s *Snapshots) part(ctx context.Context, id string, row ManifestRow, sc Scope) (part, error) {
	key := id + "/" + row.Name + "/" + row.SHA256
	if p, ok := s.parts.get(key); ok {
		return p, nil
	}
	p, err := s.read(ctx, id, row)
	if err == nil && sc.ofGroup {
		s.parts.put(key, p, len(p))
	}
	return p, err
}

// read reads one part, and unpacks it if it is what was written.
func (s *Snapshots) read(ctx context.Context, id string, row ManifestRow) (part, error) {
	b, err := s.store.Get(ctx, id+"/"+row.Name)
	if err != nil {
		return nil, fmt.Errorf("part %s: %w", row.Name, err)
	}
	if len(b) != row.Bytes || digest(b) != row.SHA256 {
		return nil, fmt.Errorf("%w: part %s is damaged: its %d bytes do not have the digest in the manifest", errUnusable, row.Name, len(b))
	}
	p, err := unpacker.DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: part %s: %w", errUnusable, row.Name, err)
	}
	return p, nil
}
