package api

import (
	"context"
	"net/http"

	"github.com/offsetledger/offsetledger/replay"
)

// LearnRequest is the body of POST /api/v1/plans/facts: what a program that carries a plan out by
// itself has heard of groups from Kafka, which the ledger knows more of.
type LearnRequest struct {
	Cluster Text         `json:"cluster"`
	Facts   replay.Facts `json:"facts"`
}

// Learn adds to facts what only the ledger knows of their groups, as [replay.Facts.Learn] does.
func (c *Client) Learn(ctx context.Context, cluster string, facts *replay.Facts) error {
	req := LearnRequest{Cluster: Text(cluster), Facts: replay.Facts{KafkaClusterID: facts.KafkaClusterID, At: facts.At}}
	for _, g := range facts.Groups {
		g.Rows, g.Pending = nil, nil // they can be many, and nothing is learnt of them
		req.Facts.Groups = append(req.Facts.Groups, g)
	}
	learnt, err := post[replay.Facts](ctx, c, routeFacts, req)
	if err != nil {
		return err
	}
	for i := range facts.Groups {
		if g := learnt.Group(facts.Groups[i].Name); g != nil {
			facts.Groups[i].Simple, facts.Groups[i].EmptySince, facts.Groups[i].Members = g.Simple, g.EmptySince, g.Members
		}
	}
	return nil
}

func (s *server) learnt(w http.ResponseWriter, r *http.Request, body []byte) error {
	var req LearnRequest
	if err := decodeStrictly(body, &req); err != nil {
		return err
	}
	f, err := s.frame(r.Context(), Query{Cluster: string(req.Cluster)})
	if err != nil {
		return err
	}
	req.Facts.Sort()
	s.learn(f.cluster)(&req.Facts)
	return s.writeJSON(w, r, req.Facts)
}
