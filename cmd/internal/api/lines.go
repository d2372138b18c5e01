package api

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// lines writes an answer row by row, one JSON object on a line. An empty line says that
// everything up to now has been written; it is repeated as a heartbeat while nothing comes,
// so that neither end nor anything between takes the silence for a broken connection. The
// answer of a stream that fails ends with a line {"problem":…} and is cut off.
type lines struct {
	ctx    context.Context // of the request
	rc     *http.ResponseController
	beat   time.Duration
	once   sync.Once
	done   chan struct{} // ends the heartbeat
	beaten chan struct{} // closed when the heartbeat has ended

	mu    sync.Mutex // guards what follows
	buf   *bufio.Writer
	err   error // of writing: the client is gone
	begun bool  // upToDate was called, so that an empty line tells the truth
}

// headerEnvelope holds, of an answer in lines, what it says about itself: the JSON of an
// [Envelope].
const headerEnvelope = "Offsetledger-Envelope"

// lines begins an answer in lines. It is nil if only the headers of one were asked for.
func (s *server) lines(w http.ResponseWriter, r *http.Request, e Envelope) (*lines, error) {
	about, err := encode(e)
	if err != nil {
		return nil, err
	}
	w.Header().Set("Content-Type", typeLines)
	w.Header().Set(headerEnvelope, string(about))
	if r.Method == http.MethodHead {
		return nil, nil
	}
	l := &lines{
		ctx: r.Context(), rc: http.NewResponseController(w), buf: bufio.NewWriterSize(w, 32<<10), beat: s.Heartbeat,
		done: make(chan struct{}), beaten: make(chan struct{}),
	}
	go l.heartbeat()
	return l, nil
}

// write adds one row, which is sent when the buffer is full or [lines.upToDate] says so.
func (l *lines) write(row any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(row)
}

// writeAll adds the rows of one event. Nothing comes between them, since a reader takes an
// empty line for the end of what was there, and so for that of the event.
func writeAll[T any](l *lines, rows []T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		l.add(&rows[i])
	}
}

// add adds a row. The caller holds mu.
func (l *lines) add(row any) {
	if l.err != nil {
		return
	}
	var line []byte
	if line, l.err = encode(row); l.err != nil {
		return
	}
	line = append(line, '\n')
	if l.buf.Available() < len(line) {
		l.err = extend(l.rc, l.beat)
	}
	if l.err == nil {
		_, l.err = l.buf.Write(line)
	}
}

// upToDate sends everything, and says that there is no more now.
func (l *lines) upToDate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	l.pulse()
}

// pulse sends an empty line and all that waits before it. The caller holds mu.
func (l *lines) pulse() {
	if l.err != nil {
		return
	}
	if l.err = extend(l.rc, l.beat); l.err != nil {
		return
	}
	l.buf.WriteByte('\n') //nolint:errcheck // Flush returns it
	if l.err = l.buf.Flush(); l.err == nil {
		l.err = l.rc.Flush()
	}
}

// extend gives the next write as long as two heartbeats, whatever the server's own limit for
// an answer is: one that is written as it is found has none.
func extend(rc *http.ResponseController, beat time.Duration) error {
	err := rc.SetWriteDeadline(time.Now().Add(2 * beat))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

func (l *lines) heartbeat() {
	defer close(l.beaten)
	t := time.NewTicker(l.beat)
	defer t.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-t.C:
			l.mu.Lock()
			if l.begun {
				l.pulse()
			}
			l.mu.Unlock()
		}
	}
}

// broken reports whether nobody is listening any more.
func (l *lines) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil
}

// fail ends the stream with the reason and cuts it off. If nobody is listening any more there
// is nothing to fail.
func (l *lines) fail(err error) error {
	if l.ctx.Err() != nil {
		return nil
	}
	var p *Problem
	if !errors.As(err, &p) {
		p = problem(CodeInternal, "%v", err)
	}
	l.write(map[string]*Problem{"problem": p})
	l.close()
	panic(http.ErrAbortHandler)
}

// close sends what waits and ends the heartbeat. It can be called twice.
func (l *lines) close() {
	l.once.Do(func() { close(l.done) })
	<-l.beaten
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = errors.Join(l.buf.Flush(), l.rc.Flush())
	}
}
