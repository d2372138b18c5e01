package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// ApplyRequest is the body of POST /api/v1/plans/apply: a stored plan that is to be carried out.
type ApplyRequest struct {
	Cluster Text   `json:"cluster"`
	ID      string `json:"id"`
	// Strict wants what is committed to be what it was when the plan was made.
	Strict bool `json:"strict,omitempty"`
	Actor  Text `json:"actor"` // as it is claimed
	Reason Text `json:"reason"`
}

// ApproveRequest is the body of POST /api/v1/plans/approve: somebody agrees to a plan.
type ApproveRequest struct {
	Cluster Text   `json:"cluster"`
	ID      string `json:"id"`
	Digest  string `json:"digest"` // of the plan that was looked at
	Actor   Text   `json:"actor"`
	Reason  Text   `json:"reason,omitempty"`
}

// Approval answers POST /api/v1/plans/approve.
type Approval struct {
	Kind    string `json:"kind"` // approval
	Version int    `json:"version"`
	Plan    string `json:"plan"`
	Digest  string `json:"digest"`
	Actor   Text   `json:"actor"`
	// ActorVerified says that the actor was proved, not just claimed.
	ActorVerified bool `json:"actor_verified"`
}

// UndoRequest is the body of POST /api/v1/restores/undo: a plan that takes a restore back is to be
// made and stored.
type UndoRequest struct {
	Cluster       Text   `json:"cluster"`
	ID            string `json:"id"` // of the restore
	AfterProgress bool   `json:"after_progress,omitempty"`
	AcceptExpiry  bool   `json:"accept_expiry,omitempty"`
	Actor         Text   `json:"actor"`
	Reason        Text   `json:"reason,omitempty"`
	// Facts are what Kafka says now, by whoever asks; see [PlanRequest]. The inquiry is answered
	// by POST /api/v1/restores/undo/inquiry.
	Facts *replay.Facts `json:"facts,omitempty"`
}

// Restored answers POST /api/v1/plans/apply: what has become of a plan.
type Restored struct {
	Kind    string          `json:"kind"` // restored
	Version int             `json:"version"`
	ID      string          `json:"id"` // of the restore, for an undo; empty if nothing was to be done, which is not recorded
	Plan    string          `json:"plan"`
	Resumed bool            `json:"resumed"` // an earlier run was gone on with
	Whole   bool            `json:"whole"`   // every partition is as it was to be
	Drift   DriftRow        `json:"drift"`   // what had moved since the plan was made
	Rows    []RestoredGroup `json:"rows"`
}

// DriftRow is how what is committed has moved since a plan was made.
type DriftRow struct {
	Moved    int   `json:"moved"` // partitions
	Forward  int64 `json:"forward"`
	Back     int64 `json:"back"`
	Appeared int   `json:"appeared"` // partitions that have an offset, and had none
	Absent   int   `json:"absent"`   // partitions that have none, and had one
}

// RestoredGroup is what was done to one group.
type RestoredGroup struct {
	Group   Text         `json:"group"`
	Written int          `json:"written"` // offsets committed and read back
	Deleted int          `json:"deleted"`
	Earlier int          `json:"earlier"` // steps that an earlier run had done
	Kept    int          `json:"kept"`
	Refused []RefusedRow `json:"refused"`
}

// RefusedRow is a partition that is not as it was to be.
type RefusedRow struct {
	Topic     Text   `json:"topic"`
	Partition int32  `json:"partition"`
	Code      int16  `json:"code"` // Kafka's error code; 0 if it took the row, and something else is there
	Error     string `json:"error"`
}

// RestoredOf is what has become of a plan, as it is told.
func RestoredOf(r *replay.Restored) Restored {
	_, _, refused := r.Sums()
	out := Restored{
		Kind: "restored", Version: Version, ID: r.ID, Plan: r.Plan, Resumed: r.Resumed, Whole: refused == 0,
		Drift: DriftRow(r.Drift), Rows: []RestoredGroup{},
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		row := RestoredGroup{
			Group: Text(g.Group), Written: g.Written, Deleted: g.Deleted, Earlier: g.Earlier, Kept: g.Kept, Refused: []RefusedRow{},
		}
		for _, x := range g.Refused {
			why := x.Why
			if err := kerr.TypedErrorForCode(x.Code); err != nil && why == "" {
				why = err.Message
			}
			row.Refused = append(row.Refused, RefusedRow{Topic: Text(x.Topic), Partition: x.Partition, Code: x.Code, Error: why})
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// applyFault says why a plan was not carried out.
func applyFault(err error) error {
	for _, f := range []struct {
		is   error
		code Code
	}{
		{replay.ErrBlocked, CodeBlocked}, {replay.ErrStale, CodeStale}, {replay.ErrRefused, CodeRefused}, {ledger.ErrConflict, CodeConflict},
		{replay.ErrNoUndo, CodeUnknownRestore}, {replay.ErrNoPlan, CodeUnknownPlan},
	} {
		if errors.Is(err, f.is) {
			return problem(f.code, "%v", err)
		}
	}
	return err
}
