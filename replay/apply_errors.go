package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// Why a plan is not carried out, or not all of it. Match them with [errors.Is].
var (
	ErrRefused = errors.New("refused")              // it can never be carried out: [RefusedError]
	ErrBlocked = errors.New("blocked")              // it cannot be now: [BlockedError]
	ErrWaited  = errors.New("timed out waiting")    // groups did not become empty in time
	ErrPartly  = errors.New("only partly done")     // [PartlyError]
	ErrNoUndo  = errors.New("nothing to take back") // no restore has the id, or it is not finished
)

// RefusedError says why a plan can never be carried out. It matches [ErrRefused].
type RefusedError struct{ Reasons []string }

func (e *RefusedError) Error() string {
	most := e.Reasons[:min(len(e.Reasons), 5)]
	more := ""
	if n := len(e.Reasons) - len(most); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return "refused: " + strings.Join(most, "; ") + more
}

// Is makes the error match [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// refusals are the reasons why a plan can never be carried out.
func (p *Plan) refusals() []string {
	out := append([]string(nil), p.Refused...)
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, why := range g.Refused {
			out = append(out, ledger.Spell(g.Group)+": "+why)
		}
		for j := range g.Steps {
			if s := &g.Steps[j]; s.Action == ActionRefuse {
				out = append(out, fmt.Sprintf("%s %s/%d: %s", ledger.Spell(g.Group), ledger.Spell(s.Topic), s.Partition, s.Reason))
			}
		}
	}
	return out
}

// BlockedError says which groups are in the way of a plan. It matches [ErrBlocked].
type BlockedError struct{ Groups []PlanGroup }

func (e *BlockedError) Error() string {
	var out []string
	for i := range e.Groups {
		g := &e.Groups[i]
		text := ledger.Spell(g.Group) + ": " + strings.Join(g.Blocked, ", ")
		if len(g.Members) > 0 {
			text += " (" + MembersText(g.Members) + ")"
		}
		out = append(out, text)
	}
	return "blocked: " + strings.Join(out, "; ")
}

// who is who is in the way of which group: of a static member, until when it is held moves on with
// every look and says nothing new.
func (e *BlockedError) who() string {
	var out []string
	for i := range e.Groups {
		g := &e.Groups[i]
		out = append(out, g.Group, strings.Join(g.Blocked, ", "))
		for _, m := range g.Members {
			out = append(out, m.ID, m.InstanceID)
		}
	}
	return strings.Join(out, "\x00")
}

// Is makes the error match [ErrBlocked].
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// MembersText names members in few words, static ones with until when they are held at most.
func MembersText(members []PlanMember) string {
	var out []string
	for _, m := range members {
		name := m.ClientID
		if m.InstanceID != "" {
			name = m.InstanceID
		}
		if name == "" {
			name = m.ID
		}
		text := strings.TrimSpace(ledger.Spell(name) + " " + ledger.Spell(strings.TrimPrefix(m.Host, "/")))
		switch {
		case m.InstanceID != "" && m.HeldUntil.Known():
			text += fmt.Sprintf(" (static, held until %s if stopped now)", m.HeldUntil)
		case m.InstanceID != "":
			text += " (static)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// PartlyError says that partitions are not as they were to be. It matches [ErrPartly].
type PartlyError struct{ Restored *Restored }

func (e *PartlyError) Error() string {
	written, deleted, refused := e.Restored.Sums()
	return fmt.Sprintf("%v: as they were to be: %s, not so: %d", ErrPartly, ledger.Count(written+deleted, "offset"), refused)
}

// Is makes the error match [ErrPartly].
func (e *PartlyError) Is(target error) bool { return target == ErrPartly }
