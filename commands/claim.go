package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// Fencing. The last claim under ol.<cluster>.g.<group>.claim says who owns the group. A manager
// appends its own, expecting the one before, and from then on expects in every append that its
// own is still the last: the filter is that one subject, so that everything else that is written
// about the group, by operators or capture, gets in nobody's way.

// maxClaims is how often a manager tries to get past others that claim at the same moment.
const maxClaims = 10

// claim takes the group over, or renews the manager's claim. If somebody else has claimed since,
// the manager stops.
func (m *Manager) claim(ctx context.Context) error {
	var sent error
	for range maxClaims {
		last, owner, err := m.lastClaim(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("claim: %w", err), sent)
		}
		switch {
		case owner == m.instance && last > m.w.claim:
			m.w.claim, m.w.known = last, max(m.w.known, last) // the answer was lost
			return nil
		case m.w.claim != 0 && last != m.w.claim:
			return m.fence(fmt.Errorf("offset manager of %s/%s was taken over by %s: %w", m.cfg.Cluster, m.cfg.Group, owner,
				&ledger.ConflictError{Filter: m.claims, Wanted: m.w.claim, Found: last}))
		}
		o, err := m.event(ledger.KindClaim)
		if err != nil {
			return err
		}
		o.event.Claim = &ledger.Claim{Instance: m.instance, Previous: owner}
		r, err := m.log.Append(ctx, []ledger.Event{o.event}, ledger.Expect{Filter: m.claims, Seq: last})
		if err == nil {
			m.w.claim, m.w.known = r.Last, r.Last
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("claim: %w", err)
		}
		sent = err
	}
	return fmt.Errorf("claim: %w", sent)
}

// lastClaim returns the last claim of the group and whose it is; 0 if there is none.
func (m *Manager) lastClaim(ctx context.Context) (seq uint64, owner string, err error) {
	seq, err = m.log.LastOf(ctx, m.claims)
	if err != nil || seq == 0 {
		return 0, "", err
	}
	for rec, err := range m.log.Read(ctx, seq, seq, ledger.Filter{}) {
		if err != nil {
			return 0, "", err
		}
		if rec.Event.Claim != nil {
			owner = rec.Event.Claim.Instance
		}
	}
	return seq, owner, nil
}
