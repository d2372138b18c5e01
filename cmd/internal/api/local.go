package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// Local is a transport that hands requests to a handler in this process, without a socket.
// Answers stream as they do over a network, and end with the context of their request.
func Local(h http.Handler) http.RoundTripper { return local{h} }

type local struct{ handler http.Handler }

// RoundTrip runs the handler until the body of its answer is closed.
func (l local) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	in := req.Clone(ctx)
	in.RequestURI = req.URL.RequestURI()
	in.Host = req.URL.Host
	if u, err := url.ParseRequestURI(in.RequestURI); err == nil {
		in.URL = u // as a server sees it
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &localWriter{header: http.Header{}, pipe: pw, started: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.finish()
		l.handler.ServeHTTP(w, in)
	}()
	body := &localBody{PipeReader: pr, cancel: cancel, done: done}
	select {
	case <-w.started:
	case <-ctx.Done():
		body.Close()
		return nil, ctx.Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: req,
	}, nil
}

// localBody ends the handler when it is closed, and waits for that.
type localBody struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   <-chan struct{}
}

func (b *localBody) Close() error {
	b.cancel()
	b.PipeReader.Close()
	<-b.done
	return nil
}

// localWriter is the handler's side of an answer.
type localWriter struct {
	header  http.Header
	pipe    *io.PipeWriter
	once    sync.Once
	started chan struct{} // closed once status and sent are set
	status  int
	sent    http.Header
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *localWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush is there because handlers look for it; every Write is handed over at once.
func (w *localWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish ends the answer. A handler that gives up in the middle of one panics with
// [http.ErrAbortHandler], as it does under a server: the reader then sees it cut off.
func (w *localWriter) finish() {
	err := error(nil)
	if caught := recover(); caught != nil {
		if given, ok := caught.(error); !ok || !errors.Is(given, http.ErrAbortHandler) {
			panic(caught)
		}
		err = io.ErrUnexpectedEOF
	}
	w.WriteHeader(http.StatusOK)
	w.pipe.CloseWithError(err)
}
