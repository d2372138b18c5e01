package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// CopyHistory writes the JSON that [Client.History] reads to w as it comes, since it can be more
// than memory should hold, and returns what the answer says about itself. What is written is not
// whole if there is an error.
func (c *Client) CopyHistory(ctx context.Context, q Query, w io.Writer) (Envelope, error) {
	return c.copy(ctx, routeHistory, q, w)
}

// CopyEvents is [Client.CopyHistory] for the raw events.
func (c *Client) CopyEvents(ctx context.Context, q Query, w io.Writer) (Envelope, error) {
	return c.copy(ctx, routeEvents, q, w)
}

func (c *Client) copy(ctx context.Context, path string, q Query, w io.Writer) (e Envelope, err error) {
	resp, err := c.ask(ctx, path, q)
	if err != nil {
		return e, err
	}
	defer resp.Body.Close()
	if e, err = headOf(io.TeeReader(resp.Body, w)); err == nil {
		_, err = io.Copy(w, resp.Body)
	}
	if err != nil {
		err = fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	return e, err
}

// headOf reads of an answer what stands before its rows.
func headOf(r io.Reader) (e Envelope, err error) {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return e, err
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return e, err
		}
		if name == "rows" {
			break
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return e, err
		}
		fields[fmt.Sprint(name)] = value
	}
	head, err := json.Marshal(fields)
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(head, &e)
}
