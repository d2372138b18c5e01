package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// mostPosted is how many bytes the body of a request can have: what Kafka says of 100,000
// partitions with long names is about 40 MB.
const mostPosted = 128 << 20

// postPatience is how long a body can take to come.
const postPatience = time.Minute

// posted reads the body of a request that is to change something. It has to be JSON, which no
// form of a web page can send, and must not come from another origin.
func (s *server) posted(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := s.origins.Check(r); err != nil {
		return nil, problem(CodeHost, "a web page of another origin cannot ask for changes")
	}
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != typeJSON {
		return nil, problem(CodeNotJSON, "the body has to be JSON, with the header Content-Type: %s", typeJSON)
	}
	reading := http.NewResponseController(w)
	_ = reading.SetReadDeadline(time.Now().Add(postPatience)) // where there is none, the caller's server bounds it
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostPosted))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, problem(CodeTooLarge, "the body is larger than %d bytes", large.Limit)
	}
	if err != nil {
		return nil, problem(CodeBadParameter, "the body of the request broke off")
	}
	_ = reading.SetReadDeadline(time.Time{})
	return body, nil
}

// decodeStrictly reads the JSON of a request. A field that is not known is refused, as an unknown
// parameter is.
func decodeStrictly(body []byte, v any) error {
	err := ledger.UnmarshalStrict(body, v)
	var fault *ledger.JSONError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault) && fault.Field != "":
		return problem(CodeBadParameter, "%v", err)
	}
	return problem(CodeBadParameter, "the body of the request cannot be read: %v", err)
}

// post sends a request that asks for a change, and reads the answer.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	b, err := encode(body)
	if err != nil {
		return out, err
	}
	u, err := c.address(path)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(b))
	if err != nil {
		return out, err
	}
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("Accept", typeJSON)
	resp, err := c.send(ctx, req)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	return out, nil
}

// address is the URL of a path.
func (c *Client) address(path string) (*url.URL, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a daemon; write one as http://127.0.0.1:8642", c.URL)
	}
	return u.JoinPath(path), nil
}

// send sends a request. What is answered otherwise than with 200 is an error.
func (c *Client) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	client := http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) {
			err = detail.Err // without the URL and all its parameters
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("no daemon listens at %s (%w): start one with offsetledger serve", c.URL, err)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ask %s: %w", c.URL, err)
		}
		return nil, fmt.Errorf("ask %s: %w: is this the address of a daemon?", c.URL, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.problemOf(resp)
}
