package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// Snapshots are the states that were written down, so that a replay need not begin with the first
// event.
type Snapshots struct {
	Kind    string        `json:"kind"` // snapshots
	Version int           `json:"version"`
	Rows    []SnapshotRow `json:"rows"` // newest first
}

// SnapshotRow is one snapshot.
type SnapshotRow struct {
	ID         string `json:"id"`
	Seq        uint64 `json:"seq"`    // the state is that after this event
	Time       Time   `json:"time"`   // append time of that event
	Latest     Time   `json:"latest"` // it serves answers as of this moment and later ones
	Taken      Time   `json:"taken"`
	Groups     int    `json:"groups"`
	Partitions int    `json:"partitions"` // that a group has or had an offset for
	Bytes      int    `json:"bytes"`
	// Parts are given of one snapshot that was asked for by its id.
	Parts []SnapshotPart `json:"parts,omitempty"`
}

// SnapshotPart is one object that a snapshot consists of.
type SnapshotPart struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SnapshotName names a snapshot that is to be deleted.
type SnapshotName struct {
	ID string `json:"id"`
}

// Snapshots lists the snapshots that can be used, or only the one that q.ID names.
func (c *Client) Snapshots(ctx context.Context, q Query) (Snapshots, error) {
	return get[Snapshots](ctx, c, routeSnapshots, q)
}

// TakeSnapshot writes the present state down.
func (c *Client) TakeSnapshot(ctx context.Context) (Snapshots, error) {
	return post[Snapshots](ctx, c, routeSnapshots, struct{}{})
}

// DeleteSnapshot removes a snapshot, and returns those that are left.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) (Snapshots, error) {
	return post[Snapshots](ctx, c, routeSnapshotDelete, SnapshotName{ID: id})
}

func snapshotRow(m *replay.Manifest) SnapshotRow {
	return SnapshotRow{
		ID: m.ID(), Seq: m.Seq, Time: Time{ledger.AtTime(m.Appended)}, Latest: Time{m.Latest()}, Taken: Time{ledger.AtTime(m.Taken)},
		Groups: m.Groups, Partitions: m.Partitions, Bytes: m.Bytes(),
	}
}

func (s *server) snapshots(w http.ResponseWriter, r *http.Request, q Query) error {
	if s.Snapshots == nil {
		return errNoSnapshots
	}
	answer := Snapshots{Kind: "snapshots", Version: Version, Rows: []SnapshotRow{}}
	for _, m := range s.Snapshots.List() {
		row := snapshotRow(&m)
		switch q.ID {
		case "":
		case m.ID():
			for _, p := range m.Parts {
				row.Parts = append(row.Parts, SnapshotPart(p))
			}
		default:
			continue
		}
		answer.Rows = append(answer.Rows, row)
	}
	if q.ID != "" && len(answer.Rows) == 0 {
		return unknownSnapshot(q.ID)
	}
	return s.writeJSON(w, r, answer)
}

var errNoSnapshots = problem(CodeNotFound, "this handler keeps no snapshots")

func unknownSnapshot(id string) error {
	return problem(CodeUnknownSnapshot, "no snapshot %q can be used; offsetledger snapshot list shows those that can", id)
}

// takeSnapshot writes down what is stored by now.
func (s *server) takeSnapshot(w http.ResponseWriter, r *http.Request, body []byte) error {
	if s.Snapshots == nil || s.Ledger == nil {
		return errNoSnapshots
	}
	if err := decodeStrictly(body, &struct{}{}); err != nil {
		return err
	}
	if err := s.catchUp(r.Context()); err != nil {
		return err
	}
	l, err := s.Ledger(r.Context())
	if err != nil {
		return err
	}
	m, err := s.Snapshots.Take(r.Context(), replay.Taking{Read: s.View.ReadIncidents, Now: s.Now(), LogBytes: l.Bytes})
	switch {
	case errors.Is(err, replay.ErrHalfRead):
		return problem(CodeBusy, "an event that is stored in parts is just being read: ask again")
	case errors.Is(err, replay.ErrNothing):
		return problem(CodeUnknownSequence, "nothing is recorded yet: there is no state to write down")
	case err != nil:
		return err
	}
	return s.writeJSON(w, r, Snapshots{Kind: "snapshots", Version: Version, Rows: []SnapshotRow{snapshotRow(&m)}})
}

func (s *server) deleteSnapshot(w http.ResponseWriter, r *http.Request, body []byte) error {
	if s.Snapshots == nil {
		return errNoSnapshots
	}
	var name SnapshotName
	if err := decodeStrictly(body, &name); err != nil {
		return err
	}
	err := s.Snapshots.Delete(r.Context(), name.ID)
	if errors.Is(err, replay.ErrNoSnapshot) {
		return unknownSnapshot(name.ID)
	}
	if err != nil {
		return err
	}
	return s.snapshots(w, r, Query{})
}
