package api

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// Log is the stored history; a stream.Log is one.
type Log interface {
	// Read yields the records from one sequence to another, both included; to 0 is the last. One that
	// cannot be reached is [ErrAway], at once.
	Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
	// Follow yields the records from a sequence on, and goes on until ctx ends.
	Follow(ctx context.Context, from uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
	// Last is the last sequence stored, 0 if there is none.
	Last(ctx context.Context) (uint64, error)
}

// ErrAway is a log that cannot be reached now. What was folded of it is answered all the same.
var ErrAway = errors.New("the ledger cannot be read")

// Status is how capture is doing. The zero Status is that of a ledger that nobody captures
// into: what it says of the present is as old as its last record.
type Status struct {
	Capturing bool // capture runs in this process
	Ready     bool // it has caught up with what was there when it started
	// Behind is how far it is behind; meaningful if BehindKnown.
	Behind      time.Duration
	BehindKnown bool
	Problem     string // why it is not well, and the mend; empty if it is
}

// Config says what the handler answers from. Log and View have to be set.
type Config struct {
	Log Log
	// View is the live fold of the whole log; somebody else runs it.
	View *projection.View
	// Status tells how capture is doing. By default there is no capture.
	Status func() Status
	// Ledger tells how what the events are stored in is doing; nil if nobody knows.
	Ledger func(ctx context.Context) (Ledger, error)
	// Snapshots are states to answer from about the past; nil has none, and answers the same.
	Snapshots *replay.Snapshots
	// Append stores events; without it nothing can be asked for that has to be stored.
	Append func(ctx context.Context, events []ledger.Event) error
	// Facts asks Kafka what is true of a cluster now; nil if this handler cannot reach it.
	Facts func(ctx context.Context, cluster string, q replay.Inquiry) (replay.Facts, error)
	// Writes are what plans are carried out with; nil: they cannot be, nor recorded.
	Writes *Writes
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Hosts are the values of the Host header that are answered, without port. By default all
	// are: for a listener on loopback set [LoopbackHosts], so that no web page can make a
	// browser ask in its name.
	Hosts []string
	// Heartbeat is how often a stream that has nothing to say says so. Default 15 seconds.
	Heartbeat time.Duration
	// Followers is how many streams can be followed at the same time, Questions how many
	// answers can be read from the log besides. Default 500 and 32.
	Followers, Questions int
	// Logger takes what goes wrong inside. Default: nothing is logged.
	Logger *slog.Logger
}

// LoopbackHosts are the names under which a listener on loopback is reached.
var LoopbackHosts = []string{"localhost", "127.0.0.1", "::1"}

// The routes.
const (
	routeGroups    = "/api/v1/groups"
	routeGroup     = "/api/v1/group"
	routeHistory   = "/api/v1/history"
	routeEvents    = "/api/v1/events"
	routeLag       = "/api/v1/lag"
	routeDiff      = "/api/v1/diff"
	routeIncidents = "/api/v1/incidents"
	routeIncident  = "/api/v1/incidents/show"
	routeAnnotate  = "/api/v1/incidents/annotate"
	routeLedger    = "/api/v1/ledger"
	routeSnapshots = "/api/v1/snapshots"
	routePlans     = "/api/v1/plans"
	routePlan      = "/api/v1/plans/show"

	routeSnapshotDelete = "/api/v1/snapshots/delete"

	routePlanInquiry = "/api/v1/plans/inquiry"

	routeApply       = "/api/v1/plans/apply"
	routeApprove     = "/api/v1/plans/approve"
	routeRestores    = "/api/v1/restores"
	routeUndo        = "/api/v1/restores/undo"
	routeUndoInquiry = "/api/v1/restores/undo/inquiry"
	routeFacts       = "/api/v1/plans/facts"
	routeRestore     = "/api/v1/restores/show"
	routeRecords     = "/api/v1/records/read"
	routeAppend      = "/api/v1/records/append"

	routeHealth = "/healthz"
	routeReady  = "/readyz"
)

// Content types.
const (
	typeJSON    = "application/json"
	typeLines   = "application/jsonl"
	typeProblem = "application/problem+json"
)

// route is one path: the query parameters that it takes and what answers.
type route struct {
	takes []string
	serve func(http.ResponseWriter, *http.Request, Query) error  // GET and HEAD; nil: they are refused
	post  func(http.ResponseWriter, *http.Request, []byte) error // POST, with the body; nil: it is refused
	reads bool                                                   // the log, whatever is asked for
}

type server struct {
	Config
	routes    map[string]route
	readers   readers
	annotated annotated
	origins   *http.CrossOriginProtection // of what is to change something
}

// NewHandler answers the routes of this package; see the package comment for their rules.
// It has no http.ServeMux in it, because that redirects paths that it finds untidy.
func NewHandler(c Config) http.Handler {
	if c.Status == nil {
		c.Status = func() Status { return Status{} }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.Followers == 0 {
		c.Followers = defaultFollowers
	}
	if c.Questions == 0 {
		c.Questions = defaultQuestions
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{Config: c, readers: newReaders(c), origins: http.NewCrossOriginProtection()}
	s.annotated.of = map[string]afterwards{}
	page := []string{paramCluster, paramGroup, paramSince, paramUntil, paramLimit, paramNext}
	s.routes = map[string]route{
		routeGroups: {takes: []string{paramCluster, paramAt, paramState, paramSort, paramLagAbove, paramLimit, paramNext}, serve: s.groups},
		routeGroup:  {takes: []string{paramCluster, paramGroup, paramAt, paramTopic, paramPartition, paramTimeLag}, serve: s.group},
		routeHistory: {takes: append([]string{paramTopic, paramPartition, paramMovement, paramNot, paramAround, paramFollow, paramFrom}, page...),
			serve: s.history, reads: true},
		routeEvents:         {takes: append([]string{paramTopic, paramKind, paramFollow, paramFrom}, page...), serve: s.events, reads: true},
		routeLag:            {takes: []string{paramCluster, paramGroup, paramTopic, paramPartition, paramSince, paramUntil, paramPoints}, serve: s.lag, reads: true},
		routeDiff:           {takes: []string{paramCluster, paramGroup, paramFrom, paramTo, paramMovement, paramApart}, serve: s.diff, reads: true},
		routeIncidents:      {takes: append([]string{paramKind, paramReasonless}, page...), serve: s.incidents},
		routeIncident:       {takes: []string{paramCluster, paramID}, serve: s.incident, reads: true},
		routeAnnotate:       {post: s.annotate, reads: true},
		routeLedger:         {serve: s.ledger},
		routeSnapshots:      {takes: []string{paramID}, serve: s.snapshots, post: s.takeSnapshot},
		routeSnapshotDelete: {post: s.deleteSnapshot},
		routePlans:          {takes: []string{paramCluster}, serve: s.plans, post: s.makePlan, reads: true},
		routePlan:           {takes: []string{paramCluster, paramID}, serve: s.plan, reads: true},
		routePlanInquiry:    {post: s.planInquiry, reads: true},
		routeFacts:          {post: s.learnt},
		routeApply:          {post: s.apply, reads: true},
		routeApprove:        {post: s.approve, reads: true},
		routeRestores:       {takes: []string{paramCluster}, serve: s.restores, reads: true},
		routeRestore:        {takes: []string{paramCluster, paramID}, serve: s.restore, reads: true},
		routeUndo:           {post: s.undo, reads: true},
		routeUndoInquiry:    {post: s.undoInquiry, reads: true},
		routeRecords:        {post: s.readRecords, reads: true},
		routeAppend:         {post: s.appendRecords},
		routeHealth:         {serve: s.health},
		routeReady:          {serve: s.ready},
	}
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	err := s.answer(w, r)
	if err == nil {
		return
	}
	var p *Problem
	switch {
	case errors.As(err, &p):
	case r.Context().Err() != nil:
		return // nobody is listening any more
	case errors.Is(err, ErrAway):
		p = problem(CodeUnhealthy, "%v", err)
	default:
		s.Logger.Error("a question could not be answered", "path", r.URL.Path, "error", err)
		p = problem(CodeInternal, "%v", err)
	}
	p.write(w)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) error {
	if !s.hostAllowed(r.Host) {
		return problem(CodeHost, "this listener answers to the names %s, and not to %q", strings.Join(s.Hosts, ", "), r.Host)
	}
	rt, ok := s.routes[r.URL.Path]
	if !ok {
		return problem(CodeNotFound, "no such path %s; the API is at %s", Spell(r.URL.Path), strings.Join(slices.Sorted(maps.Keys(s.routes)), ", "))
	}
	posting := r.Method == http.MethodPost && rt.post != nil
	reading := (r.Method == http.MethodGet || r.Method == http.MethodHead) && rt.serve != nil
	if !posting && !reading {
		w.Header().Set("Allow", strings.Join(rt.methods(), ", "))
		return problem(CodeMethod, "%s takes %s only", r.URL.Path, strings.Join(rt.methods(), " and "))
	}
	q, fault := parseQuery(r.URL.RawQuery, rt.takes)
	if fault != nil {
		return fault
	}
	leave, err := s.readers.enter(r.Context(), rt, q)
	if err != nil {
		return err
	}
	defer leave()
	if !posting {
		return rt.serve(w, r, q)
	}
	body, err := s.posted(w, r)
	if err != nil {
		return err
	}
	return rt.post(w, r, body)
}

// methods are those that a route takes.
func (rt *route) methods() (out []string) {
	if rt.serve != nil {
		out = append(out, http.MethodGet, http.MethodHead)
	}
	if rt.post != nil {
		out = append(out, http.MethodPost)
	}
	return out
}

func (s *server) hostAllowed(hostport string) bool {
	if s.Hosts == nil {
		return true
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// health answers whether the daemon is well. Queries go on when it is not.
func (s *server) health(w http.ResponseWriter, r *http.Request, _ Query) error {
	if p := s.Status().Problem; p != "" {
		return problem(CodeUnhealthy, "%s", p)
	}
	return s.writeJSON(w, r, map[string]string{"status": "ok"})
}

// ready answers whether the daemon can be relied on: its capture has caught up with what was
// there when it started.
func (s *server) ready(w http.ResponseWriter, r *http.Request, _ Query) error {
	st := s.Status()
	switch {
	case st.Ready:
		return s.writeJSON(w, r, map[string]string{"status": "ready"})
	case st.Problem != "":
		return problem(CodeNotReady, "not ready: %s", st.Problem)
	case !st.Capturing:
		return problem(CodeNotReady, "not ready: nothing is being captured")
	}
	return problem(CodeNotReady, "not ready: capture is catching up with what was there at the start")
}
