package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/projection"
)

// ErrHalfRead is a state that ends inside an event that was cut in parts. The next records bring
// one that can be written.
var ErrHalfRead = errors.New("an event is half read")

// ErrNothing is a ledger that has recorded nothing yet, so that there is no state to write.
var ErrNothing = errors.New("nothing is recorded yet")

// When a snapshot is due: when the log has grown by this much, or by four times the last
// snapshot if that is more; and after a time if anything was recorded at all.
const (
	dueBytes = 8 << 20
	dueTimes = 4
	dueAfter = 15 * time.Minute
)

// Due reports whether it is time for another snapshot of a log that has come to seq, and has so
// many bytes.
func (s *Snapshots) Due(now time.Time, seq, logBytes uint64) bool {
	all := s.List()
	if len(all) == 0 {
		return seq > 0 && logBytes >= dueBytes
	}
	last := all[0]
	if seq <= last.Seq {
		return false
	}
	grown := logBytes - min(last.LogBytes, logBytes)
	return grown >= max(dueBytes, dueTimes*uint64(last.Bytes())) || now.Sub(last.Taken) >= dueAfter
}

// Taking is what a snapshot is taken of.
type Taking struct {
	// Read calls its argument with the state of the whole ledger and the incidents up to it, which
	// stand still meanwhile: [projection.View.ReadIncidents] is one. The incidents can be nil.
	Read     func(func(*projection.State, *projection.Incidents))
	Now      time.Time
	LogBytes uint64
}

// Take writes down the state, and thins the snapshots of before. If there is one of that sequence
// already, it returns that. The parts are written first and the manifest last: what a crash leaves is not used,
// and removed by the next Take. It fails with [ErrHalfRead] between the parts of one event, and
// with [ErrNothing] before the first record.
func (s *Snapshots) Take(ctx context.Context, of Taking) (Manifest, error) {
	s.taking.Lock()
	defer s.taking.Unlock()
	m := Manifest{Format: snapshotFormat, Incarnation: s.incarnation, Taken: of.Now.UTC(), LogBytes: of.LogBytes}
	var parts map[string]part
	of.Read(func(st *projection.State, in *projection.Incidents) {
		if !st.Whole() {
			return
		}
		m.Seq, m.Appended = st.Seq(), st.Appended()
		m.LatestMillis, _ = st.Latest().Millis()
		m.NamedMillis, _ = st.Named().Millis()
		m.Partitions = st.Size()
		parts, m.Groups = partsOf(st)
		if in != nil {
			parts[incidentsPart] = in.Append(nil)
		}
	})
	if s.trail != nil && parts != nil {
		if events, ok := s.trail.UpTo(m.Seq); ok {
			parts[eventsPart] = events.Append(nil)
			m.EventsAfter, _ = events.Range()
		}
	}
	fail := func(err error) (Manifest, error) { return Manifest{}, fmt.Errorf("take a snapshot: %w", err) }
	switch {
	case parts == nil:
		return fail(ErrHalfRead)
	case m.Seq == 0:
		return fail(ErrNothing)
	}
	if same, err := s.Find(m.ID()); err == nil && same.Appended.Equal(m.Appended) {
		return same, nil
	}
	// What is there of that sequence is half-written, or of a log that is no more.
	if err := s.delete(ctx, m.ID()); err != nil && !errors.Is(err, ErrNoSnapshot) {
		return fail(err)
	}
	if err := s.write(ctx, &m, parts); err != nil {
		return fail(err)
	}
	s.add(m)
	if s.trail != nil {
		s.trail.Cut(m.Seq) // it is in the snapshot from here on
	}
	if err := s.thin(ctx); err != nil {
		s.logger.Warn("old snapshots are not removed", "err", err)
	}
	return m, nil
}

// writers is how many objects are written or read at a time: most of it is waiting.
const writers = 8

// write packs the parts and stores them, and then the manifest.
func (s *Snapshots) write(ctx context.Context, m *Manifest, parts map[string]part) error {
	for name := range parts {
		m.Parts = append(m.Parts, ManifestRow{Name: name})
	}
	slices.SortFunc(m.Parts, func(a, b ManifestRow) int { return strings.Compare(a.Name, b.Name) })
	g, writing := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i := range m.Parts {
		row := &m.Parts[i]
		g.Go(func() error {
			packed := packer.EncodeAll(parts[row.Name], nil)
			row.Bytes, row.SHA256 = len(packed), digest(packed)
			return s.store.Put(writing, m.ID()+"/"+row.Name, packed)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	b, err := m.encode()
	if err != nil {
		return err
	}
	return s.store.Put(ctx, m.ID()+"/"+manifestName, b)
}

// thin removes what is superfluous. It also removes what is half-written, and leaves alone what
// another version or stream may still use.
func (s *Snapshots) thin(ctx context.Context) error {
	names, err := s.store.Names(ctx)
	if err != nil {
		return err
	}
	whole := map[string]bool{}
	for _, name := range names {
		dir, part, _ := strings.Cut(name, "/")
		whole[dir] = whole[dir] || part == manifestName
	}
	for dir, ok := range whole {
		if !ok {
			err = errors.Join(err, s.delete(ctx, dir))
		}
	}
	for _, m := range superfluous(s.List()) {
		err = errors.Join(err, s.delete(ctx, m.ID()))
	}
	return err
}

// superfluous picks of snapshots, the newest first, those that go. What a question about the past
// takes is the log since the snapshot before: so of those that are an hour older than the newest one
// stays if the log has grown since the one that stays before it by as much as makes one due; else
// the first of each day does. Together they are no more than a quarter of the log, and one a day.
func superfluous(all []Manifest) []Manifest {
	var gone []Manifest
	var kept *Manifest
	for i := range slices.Backward(all) {
		m := &all[i]
		stays := kept == nil || all[0].Taken.Sub(m.Taken) <= time.Hour ||
			m.LogBytes-min(kept.LogBytes, m.LogBytes) >= max(dueBytes, dueTimes*uint64(m.Bytes())) ||
			!m.Taken.Truncate(24*time.Hour).Equal(kept.Taken.Truncate(24*time.Hour))
		if stays {
			kept = m
			continue
		}
		gone = append(gone, *m)
	}
	return gone
}

// handOn gives the list of events of a snapshot that goes to the one after it, or to the trail if
// it is the newest, so that lists go on to join. If that fails, or a crash comes in between, the
// events are looked for where the list is missing.
func (s *Snapshots) handOn(ctx context.Context, id string) {
	s.mu.Lock()
	i := slices.IndexFunc(s.known, func(k *known) bool { return k.ID() == id })
	var of, next *known
	if i >= 0 {
		of = s.known[i]
	}
	if i >= 0 && i+1 < len(s.known) {
		next = s.known[i+1]
	}
	s.mu.Unlock()
	if of == nil || !of.listed() {
		return
	}
	list, err := s.readList(ctx, of)
	switch {
	case err != nil:
	case next != nil:
		err = s.lengthen(ctx, next, list)
	case s.trail != nil:
		s.trail.Precede(list)
	}
	if err != nil {
		s.logger.Warn("the list of events of a snapshot is lost", "snapshot", id, "err", err)
	}
}

// lengthen has the list of a snapshot begin where another one does that ends where it began.
func (s *Snapshots) lengthen(ctx context.Context, k *known, before *projection.Trail) error {
	if !k.listed() {
		return nil
	}
	list, err := s.readList(ctx, k)
	if err != nil || !list.Precede(before) {
		return err
	}
	m := k.Manifest
	m.Parts = slices.Clone(m.Parts)
	m.EventsAfter, _ = list.Range()
	i := slices.IndexFunc(m.Parts, func(row ManifestRow) bool { return row.Name == eventsPart })
	packed := packer.EncodeAll(list.Append(nil), nil)
	m.Parts[i].Bytes, m.Parts[i].SHA256 = len(packed), digest(packed)
	b, err := m.encode()
	if err == nil {
		err = s.store.Put(ctx, m.ID()+"/"+eventsPart, packed)
	}
	if err == nil {
		err = s.store.Put(ctx, m.ID()+"/"+manifestName, b)
	}
	if err != nil {
		k.unlisted.Store(true)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.known, k); i >= 0 {
		s.known[i] = &known{Manifest: m, checked: k.checked}
	}
	return nil
}
