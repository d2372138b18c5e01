package api

import (
	"context"
	"net/http"

	"github.com/offsetledger/offsetledger/projection"
)

// Ledger answers GET /api/v1/ledger: whether what the events are stored in is fit for it, and
// how much there is.
type Ledger struct {
	Kind    string  `json:"kind"` // ledger
	Version int     `json:"version"`
	Checks  []Check `json:"rows"`
	Events  uint64  `json:"events"`
	Bytes   uint64  `json:"bytes"`
	From    Time    `json:"from"` // append time of the first event
	To      Time    `json:"to"`   // and of the last
	// BytesPerDay is what the ledger grew by on average; null while it is too young to say.
	BytesPerDay *float64 `json:"bytes_per_day"`
	// Writes are the clusters whose Kafka whoever answers can write to.
	Writes []Text `json:"writes"`
}

// Check is one thing that has to be so.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Advice bool   `json:"advice"` // it is better to have it so, and goes without
	Detail string `json:"detail"`
	Mend   string `json:"mend"`
}

// Ledger asks how the ledger is.
func (c *Client) Ledger(ctx context.Context) (Ledger, error) {
	return get[Ledger](ctx, c, routeLedger, Query{})
}

func (s *server) ledger(w http.ResponseWriter, r *http.Request, _ Query) error {
	if s.Ledger == nil {
		return problem(CodeNotFound, "this handler does not know what its ledger is stored in")
	}
	l, err := s.Ledger(r.Context())
	if err != nil {
		return err
	}
	l.Kind, l.Version, l.Writes = "ledger", Version, []Text{}
	if s.Writes != nil {
		var clusters []string
		s.View.Read(func(st *projection.State) { clusters = st.Clusters() })
		for _, c := range clusters {
			if _, err := s.Writes.Broker(c); err == nil {
				l.Writes = append(l.Writes, Text(c))
			}
		}
	}
	return s.writeJSON(w, r, l)
}
