package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostBuffered is how large, in bytes, a JSON answer can be for it to be held until its end.
// Only such an answer has an ETag; a larger one is sent as it is written.
const mostBuffered = 1 << 20

// document is a JSON answer with a list of rows that can be longer than memory should hold.
// What comes after the rows can so depend on all of them.
type document struct {
	w     http.ResponseWriter
	r     *http.Request
	beat  time.Duration
	buf   bytes.Buffer // what has not been sent
	rows  int
	begun bool // something has been sent
}

// noRows stands in an answer without rows where the rows belong. It cannot be part of a text,
// in which quotation marks are escaped.
var noRows = []byte(`"rows":[]`)

// document begins the answer that empty, which has no rows, is until there are some.
func (s *server) document(w http.ResponseWriter, r *http.Request, empty any) (*document, error) {
	d := &document{w: w, r: r, beat: s.Heartbeat}
	whole, err := encode(empty)
	if err != nil {
		return nil, err
	}
	head, _, _ := bytes.Cut(whole, noRows)
	d.buf.Write(head)
	d.buf.WriteString(`"rows":[`)
	return d, nil
}

// row adds a row.
func (d *document) row(v any) error {
	if d.rows++; d.rows > 1 {
		d.buf.WriteByte(',')
	}
	row, err := encode(v)
	if err != nil {
		return d.fail(err)
	}
	d.buf.Write(row)
	if d.buf.Len() < mostBuffered {
		return nil
	}
	return d.send()
}

// send sends what waits. From then on the answer cannot become another.
func (d *document) send() error {
	if !d.begun {
		d.begun = true
		d.w.Header().Set("Content-Type", typeJSON)
	}
	if err := send(d.w, d.beat, d.buf.Bytes()); err != nil {
		return d.fail(err)
	}
	d.buf.Reset()
	return nil
}

// fail ends the answer: with the problem if nothing of it was sent, and otherwise by cutting
// it off, so that nobody takes a part for the whole.
func (d *document) fail(err error) error {
	if d.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// end writes what follows the rows, of an answer that is the one it began with but for that.
func (d *document) end(answer any) error {
	whole, err := encode(answer)
	if err != nil {
		return d.fail(err)
	}
	_, tail, _ := bytes.Cut(whole, noRows)
	d.buf.WriteByte(']')
	d.buf.Write(tail)
	if d.begun {
		d.buf.WriteByte('\n')
		return d.send()
	}
	return writeBody(d.w, d.r, d.beat, d.buf.Bytes(), answer)
}

// writeJSON answers with v.
func (s *server) writeJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	return writeBody(w, r, s.Heartbeat, body, v)
}

// writeBody answers with a body, which is v but perhaps for its rows, or says that whoever
// asks has it already.
func writeBody(w http.ResponseWriter, r *http.Request, beat time.Duration, body []byte, v any) error {
	tag, err := etag(body, v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", tag)
	if has(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	send(w, beat, append(body, '\n')) //nolint:errcheck // the client is gone
	return nil
}

// send writes b in pieces, none of which may take long: whoever does not read is not waited for,
// whoever reads slowly is.
func send(w http.ResponseWriter, beat time.Duration, b []byte) error {
	rc := http.NewResponseController(w)
	for piece := range slices.Chunk(b, 32<<10) {
		if err := extend(rc, beat); err != nil {
			return err
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// etag is a weak tag over the whole body but for what the clock alone changes in it, see
// [Envelope.steady].
func etag(body []byte, v any) (string, error) {
	sum := sha256.New()
	if answer, ok := v.(interface{ envelope() Envelope }); ok {
		e := answer.envelope()
		written, err := encode(e)
		if err != nil {
			return "", err
		}
		rest, ok := bytes.CutPrefix(body, written[:len(written)-1])
		if !ok {
			return "", fmt.Errorf("an answer does not begin with its envelope")
		}
		steady, err := encode(e.steady())
		if err != nil {
			return "", err
		}
		sum.Write(steady)
		body = rest
	}
	sum.Write(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:18]) + `"`, nil
}

// has reports whether the tags of If-None-Match hold one, by weak comparison. No tag of ours
// has a comma in it.
func has(headers []string, tag string) bool {
	for _, list := range headers {
		for t := range strings.SplitSeq(list, ",") {
			t = strings.TrimSpace(t)
			if t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
