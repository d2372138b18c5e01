package stream

import (
	"context"
	"encoding/json"
	"time"
)

// syncsAlways is what an in-process server says of itself; package embedded does. It is found
// behind the connection, so that nobody has to hand it along.
type syncsAlways interface{ SyncsAlways() bool }

// askFor bounds the question to a server about its settings.
const askFor = 2 * time.Second

// syncCheck says whether an acknowledged event is on disk, as far as that can be known: the
// embedded server says so itself, and another server tells it only to a connection of its
// system account. In any other case nothing but the server's configuration file can tell.
func (l *Log) syncCheck(ctx context.Context) Check {
	check := Check{Name: "sync", Advice: true, Mend: "set sync_interval: always in the jetstream block of the NATS server's configuration"}
	always, known := l.syncs(ctx)
	switch {
	case always:
		check.OK = true
		check.Detail = "the server syncs to disk before it acknowledges"
	case known:
		check.Detail = "the server acknowledges before it syncs to disk: a power cut can lose events that were acknowledged"
	default:
		check.Detail = "whether the server syncs to disk before it acknowledges cannot be known over this connection"
	}
	return check
}

func (l *Log) syncs(ctx context.Context) (always, known bool) {
	if s, ok := l.nc.Opts.InProcessServer.(syncsAlways); ok {
		return s.SyncsAlways(), true
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	answer, err := l.nc.RequestWithContext(ctx, "$SYS.REQ.SERVER."+l.nc.ConnectedServerId()+".VARZ", nil)
	if err != nil {
		return false, false
	}
	var resp struct {
		Data struct {
			JetStream struct {
				Config *struct {
					SyncAlways bool `json:"sync_always"`
				} `json:"config"`
			} `json:"jetstream"`
		} `json:"data"`
	}
	if json.Unmarshal(answer.Data, &resp) != nil || resp.Data.JetStream.Config == nil {
		return false, false
	}
	return resp.Data.JetStream.Config.SyncAlways, true
}
