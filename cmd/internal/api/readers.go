package api

import (
	"context"
	"time"
)

// How many answers read the log at the same time. Each needs a consumer of the stream, of which
// the server grants a thousand, and the fold and capture need theirs in any case.
const (
	defaultFollowers = 500
	defaultQuestions = 32
)

// patience is how long a question waits for others to be answered.
const patience = 2 * time.Second

// readers are the places of those who read the log.
type readers struct {
	followers, questions chan struct{}
}

func newReaders(c Config) readers {
	return readers{followers: make(chan struct{}, c.Followers), questions: make(chan struct{}, c.Questions)}
}

// enter takes a place for an answer that needs the log, and returns how to leave it.
func (p readers) enter(ctx context.Context, rt route, q Query) (leave func(), err error) {
	switch {
	case q.Follow:
		select {
		case p.followers <- struct{}{}:
			return func() { <-p.followers }, nil
		default:
			return nil, problem(CodeBusy, "%d streams are followed already, which is as many as there can be", cap(p.followers))
		}
	case !rt.reads && !q.TimeLag && q.At == "" && q.Since == "" && q.Until == "":
		return func() {}, nil
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case p.questions <- struct{}{}:
		return func() { <-p.questions }, nil
	case <-wait.Done():
		return nil, problem(CodeBusy, "%d questions are being answered already, which is as many as there can be", cap(p.questions))
	}
}
