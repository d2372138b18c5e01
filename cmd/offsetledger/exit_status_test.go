package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

// A script sees by the exit code what became of a reset: done, refused because the group is
// active, partly done, not possible, interrupted. Data is on stdout and errors on stderr, also
// with JSON.
func TestCLI03ExitStatus(t *testing.T) {
	fake := startKafka(t)
	for p := range int32(2) {
		require.NoError(t, fake.Produce(t.Context(), "t", p, 100))
	}
	d := serveKafka(t, filepath.Join(t.TempDir(), "ledger"), fake.Addrs()[0])
	for _, group := range []string{"g", "h", "busy"} {
		require.NoError(t, fake.Commit(t.Context(), group, "t", map[int32]int64{0: 60, 1: 60}))
		d.captures(group, "t", 60)
	}
	here := []string{"--api", d.url, "-B", fake.Addrs()[0]}
	apply := func(plan string, more ...string) *running {
		return launch(t, append(append([]string{"restore", "apply", plan, "--yes", "--reason", "CHG-41", "-o", "json"}, more...), here...)...)
	}

	both := planned(t, exitDone, append([]string{"reset", "plan", "--group", "g", "--group", "h", "--to", "40", "--topics", "t:0,1"}, here...)...)
	fake.Kafka.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req := r.(*kmsg.OffsetCommitRequest)
		if req.Group != "h" {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range req.Topics {
			answer := kmsg.NewOffsetCommitResponseTopic()
			answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				one := kmsg.NewOffsetCommitResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				answer.Partitions = append(answer.Partitions, one)
			}
			resp.Topics = append(resp.Topics, answer)
		}
		return resp, nil, true
	})
	partly := apply(both.ID)
	require.Equal(t, exitPartly, partly.wait(), "%s", &partly.stderr)
	var done api.Restored
	require.NoError(t, json.Unmarshal([]byte(partly.stdout.String()), &done), "%s", &partly.stdout)
	require.False(t, done.Whole)
	require.Contains(t, partly.stderr.String(), "error: ")
	show := launch(t, "restore", "show", done.ID, "-o", "csv", "--api", d.url)
	require.Equal(t, exitDone, show.wait(), "%s", &show.stderr)
	require.Equal(t, "group,topic,partition,before,target,result,code\n"+
		"g,t,0,60,40,written,0\ng,t,1,60,40,written,0\nh,t,0,60,40,refused,29\nh,t,1,60,40,refused,29\n", show.stdout.String())
	again := apply(both.ID)
	require.Equal(t, exitDone, again.wait(), "%s", &again.stderr)
	require.NotContains(t, again.stderr.String(), "error: ")
	show = launch(t, "restore", "show", done.ID, "--api", d.url)
	require.Equal(t, exitDone, show.wait(), "%s", &show.stderr)
	require.Regexp(t, `(?m)^`+done.ID+`  done  \S+  by \S+ \(unverified\): CHG-41\nplan `+both.ID+`: to 40  written 4  deleted 0  refused 0\n`, show.stdout.String())
	require.Regexp(t, `(?m)^h +t +1 +60 +40 +written$`, show.stdout.String())
	made := launch(t, "restore", "show", both.ID, "--api", d.url)
	require.Equal(t, exitDone, made.wait(), "%s", &made.stderr)
	require.Regexp(t, `(?m)^carried out \S+ as `+done.ID+`, by \S+: done\nmore  .* restore show `+done.ID+` `, made.stdout.String())
	require.NotContains(t, made.stdout.String(), "next: ")
	list := launch(t, "restore", "list", "--api", d.url)
	require.Equal(t, exitDone, list.wait(), "%s", &list.stderr)
	require.Regexp(t, `(?m)^`+both.ID+` .* g and 1 more +40 .* applied `+done.ID+` `, list.stdout.String())

	member, err := kgo.NewClient(fake.Options(kgo.ConsumerGroup("busy"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())...)
	require.NoError(t, err)
	defer member.Close()
	require.NoError(t, member.PollFetches(t.Context()).Err())
	active := planned(t, exitDone, append([]string{"reset", "plan", "busy", "--to", "40", "--topics", "t:0,1"}, here...)...)
	require.Equal(t, []string{"group active"}, active.Blocked())
	apply(active.ID).refused(exitRefused)
	apply(active.ID, "--wait-empty", "1ms").refused(exitTimeout)
	waiting := apply(active.ID, "--wait-empty", "1h")
	d.until("it waits", func() bool { return strings.Contains(waiting.stderr.String(), "waiting:") })
	require.Equal(t, exitInterrupted, waiting.stop(), "%s", &waiting.stderr)
	require.Empty(t, waiting.stdout.String())

	for code, args := range map[int][]string{
		exitFailed: {"reset", "plan", "g", "--to", "earliest", "--topics", "no-such:0", "-o", "json"},
		exitUsage:  {"reset", "plan", "g", "--to", "earliest", "-o", "json"},
	} {
		launch(t, append(args, here...)...).refused(code)
	}
	unreachable := launch(t, "reset", "plan", "g", "--to", "earliest", "--topics", "t:0", "-o", "json", "--api", d.url, "-B", "127.0.0.1:1")
	unreachable.refused(exitFailed)
	help := launch(t, "restore", "apply", "--help")
	require.Equal(t, exitDone, help.wait())
	require.Contains(t, help.stdout.String(), "Carry a plan out")
	require.Empty(t, help.stderr.String())
}
