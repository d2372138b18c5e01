package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// Client asks the routes of a daemon, or of a ledger that this process has open. Problems
// come back as [*Problem].
type Client struct {
	// URL is where the daemon listens, without a path: http://127.0.0.1:8642.
	URL string
	// Transport is [http.DefaultTransport] by default.
	Transport http.RoundTripper
}

// Groups lists groups.
func (c *Client) Groups(ctx context.Context, q Query) (Groups, error) {
	return get[Groups](ctx, c, routeGroups, q)
}

// Group asks for one group and its offsets.
func (c *Client) Group(ctx context.Context, q Query) (Group, error) {
	return get[Group](ctx, c, routeGroup, q)
}

// History asks what happened.
func (c *Client) History(ctx context.Context, q Query) (History, error) {
	return get[History](ctx, c, routeHistory, q)
}

// Events asks for the raw events.
func (c *Client) Events(ctx context.Context, q Query) (Events, error) {
	return get[Events](ctx, c, routeEvents, q)
}

// Incidents asks what went wrong.
func (c *Client) Incidents(ctx context.Context, q Query) (Incidents, error) {
	return get[Incidents](ctx, c, routeIncidents, q)
}

// Incident asks for one incident, with its changes.
func (c *Client) Incident(ctx context.Context, q Query) (Incidents, error) {
	return get[Incidents](ctx, c, routeIncident, q)
}

// Diff asks what moved between two moments.
func (c *Client) Diff(ctx context.Context, q Query) (Diff, error) {
	return get[Diff](ctx, c, routeDiff, q)
}

// Lag asks how the lag of a group went.
func (c *Client) Lag(ctx context.Context, q Query) (LagHistory, error) {
	return get[LagHistory](ctx, c, routeLag, q)
}

// FollowHistory asks for the rows of [Client.History] one by one and, if q says Follow, for
// what happens until ctx ends.
func (c *Client) FollowHistory(ctx context.Context, q Query) (*Stream[ChangeRow], error) {
	return follow[ChangeRow](ctx, c, routeHistory, q)
}

// FollowEvents is [Client.FollowHistory] for the raw events.
func (c *Client) FollowEvents(ctx context.Context, q Query) (*Stream[EventRow], error) {
	return follow[EventRow](ctx, c, routeEvents, q)
}

// Stream is an answer that comes row by row.
type Stream[T any] struct {
	Envelope Envelope // as of the beginning of the answer
	body     io.ReadCloser
	url      string
}

func (c *Client) do(ctx context.Context, path string, q Query, accept string) (*http.Response, error) {
	u, err := c.address(path)
	if err != nil {
		return nil, err
	}
	u.RawQuery = q.Values().Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	return c.send(ctx, req)
}

// problemOf reads why there is no answer. What is no problem document did not come from a
// daemon of ours.
func (c *Client) problemOf(resp *http.Response) error {
	p := &Problem{}
	if resp.Header.Get("Content-Type") == typeProblem && json.NewDecoder(resp.Body).Decode(p) == nil {
		return p
	}
	return fmt.Errorf("%s answers %s and not as offsetledger does: is this its address?", c.URL, resp.Status)
}

// ask asks for a JSON document.
func (c *Client) ask(ctx context.Context, path string, q Query) (*http.Response, error) {
	resp, err := c.do(ctx, path, q, typeJSON)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), typeJSON) {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.problemOf(resp)
}

func get[T any](ctx context.Context, c *Client, path string, q Query) (T, error) {
	var out T
	resp, err := c.ask(ctx, path, q)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	return out, nil
}

func follow[T any](ctx context.Context, c *Client, path string, q Query) (*Stream[T], error) {
	resp, err := c.do(ctx, path, q, typeLines) //nolint:bodyclose // Stream.Close does
	if err != nil {
		return nil, err
	}
	s := &Stream[T]{body: resp.Body, url: c.URL}
	if err := json.Unmarshal([]byte(resp.Header.Get(headerEnvelope)), &s.Envelope); err != nil {
		s.Close()
		return nil, c.problemOf(resp)
	}
	return s, nil
}

// Close ends the stream; a second time it does nothing.
func (s *Stream[T]) Close() error { return s.body.Close() }

// Rows yields the rows, once. A nil row says that everything up to now has been yielded.
func (s *Stream[T]) Rows() iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		defer s.Close()
		r := bufio.NewReaderSize(s.body, 64<<10)
		for {
			line, err := r.ReadBytes('\n')
			switch {
			case errors.Is(err, io.EOF) && len(line) == 0:
				return
			case err != nil:
				yield(nil, fmt.Errorf("the answer of %s broke off: %w", s.url, err))
				return
			case len(line) == 1:
				if !yield(nil, nil) {
					return
				}
				continue
			}
			row, err := lineOf[T](line)
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// lineOf reads a row, or the problem that ends a stream.
func lineOf[T any](line []byte) (*T, error) {
	var failed struct {
		Problem *Problem `json:"problem"`
	}
	if err := json.Unmarshal(line, &failed); err == nil && failed.Problem != nil {
		return nil, failed.Problem
	}
	row := new(T)
	if err := json.Unmarshal(line, row); err != nil {
		return nil, fmt.Errorf("read a row: %w", err)
	}
	return row, nil
}
