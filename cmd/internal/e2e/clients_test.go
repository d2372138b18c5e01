package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

func TestClientsOfAllKindsOnKafka44(t *testing.T) { clientsOfAllKinds(t, kafkatest.Version44) }

func TestClientsOfAllKindsOnKafka40(t *testing.T) {
	ownBroker(t)
	clientsOfAllKinds(t, kafkatest.Version40)
}

// On one topic work a Java console consumer, two members of a classic group, one of a KIP-848
// group and a script that commits without a group, all at once. Each commit that they made is
// in the history once, in order, with its offset and metadata, and with who made it, also for
// somebody who follows; the groups are listed with their members; their lag is what the stock
// tool prints.
func clientsOfAllKinds(t *testing.T, version string) {
	r := kafkatest.Shared(t, version)
	topic := unique("orders")
	produce(t, r, topic, 100, 100, 100, 100)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()

	followed := d.follow("history", "-o", "jsonl")
	java := startConsole(t, r, unique("java"), topic, 401)
	classic := startGroup(t, r, classicGroup, unique("classic"), topic, 2)
	next := startGroup(t, r, consumerGroup, unique("next"), topic, 1)
	simple := &recorder{group: unique("simple")}

	commitAtOnce(t, 20, classic, next)
	commitAlone(t, r, simple, topic, 5)
	java.awaitMember(d)

	d.through()
	for _, g := range []*kgoGroup{classic, next} {
		g.checkListed(d)
	}
	requireListed(t, d, simple.group, api.GroupRow{State: "Empty", Type: "classic", Partitions: 2})

	require.NoError(t, r.Produce(bounded(t), topic, 3, 1))
	java.wait()
	groups := []string{java.group, classic.group, next.group, simple.group}
	d.through()
	stock := stockDescribeAll(t, r, topic, groups...)
	for _, group := range groups {
		require.Equal(t, stock[group], asStock(answer[api.Group](d, "group", "describe", group)), group)
	}

	raw := rawCommits(t, r, topic)
	require.Equal(t, map[int32]stockRow{0: {100, 100, 0}, 1: {100, 100, 0}, 2: {100, 100, 0}, 3: {101, 101, 0}}, stock[java.group])
	require.Equal(t, raw[java.group], historyOf(d, java.group))
	for _, rec := range []*recorder{&classic.recorder, &next.recorder, simple} {
		require.Equal(t, rec.sent, historyOf(d, rec.group), "what %s committed, and what history tells", rec.group)
		require.Equal(t, rec.sent, raw[rec.group])
	}
	requireMembersNamed(t, d, classic, next)
	for _, row := range rows[api.ChangeRow](d, "history", simple.group) {
		require.Equal(t, "no-member", row.Who.Kind)
	}
	for _, row := range rows[api.ChangeRow](d, "history", java.group) {
		if row.Partition != nil {
			require.Equal(t, "member", row.Who.Kind)
			require.Equal(t, api.Text("java-app"), row.Who.ClientID)
			require.Equal(t, api.Text("/127.0.0.1"), row.Who.Host)
		}
	}
	requireListed(t, d, java.group, api.GroupRow{State: "Empty", Type: "classic", Partitions: 4})

	told := d.ask("history", "-o", "jsonl", "--all").stdout
	d.until("who follows has all of it", func() bool { return len(followed.String()) >= len(told) })
	require.Equal(t, told, followed.String()[:len(told)])
}

// commitAlone commits n times as a script does, without a member.
func commitAlone(t *testing.T, r *kafkatest.Real, rec *recorder, topic string, n int) {
	for i := range n {
		var offsets kadm.Offsets
		for p := range int32(2) {
			s := sent{Offset: int64(10*i) + int64(p), Metadata: fmt.Sprintf("run %d/%d \x01é", i, p)}
			offsets.Add(kadm.Offset{Topic: topic, Partition: p, At: s.Offset, LeaderEpoch: 0, Metadata: s.Metadata})
			rec.record(p, s)
		}
		require.NoError(t, r.CommitOffsets(bounded(t), rec.group, offsets))
	}
}

// historyOf is every offset that history tells of a group, by partition and in order.
func historyOf(d *daemon, group string) map[int32][]sent {
	d.t.Helper()
	out := map[int32][]sent{}
	for _, row := range rows[api.ChangeRow](d, "history", group) {
		if row.Partition == nil {
			continue
		}
		require.NotNil(d.t, row.To)
		out[*row.Partition] = append(out[*row.Partition], sent{*row.To, string(row.Metadata)})
	}
	return out
}

// requireListed checks what the list of groups says of one.
func requireListed(t *testing.T, d *daemon, group string, want api.GroupRow) {
	t.Helper()
	all := rows[api.GroupRow](d, "group", "list")
	i := slices.IndexFunc(all, func(g api.GroupRow) bool { return string(g.Group) == group })
	require.GreaterOrEqual(t, i, 0, "group list has no %s", group)
	got := all[i]
	require.Equal(t, want, api.GroupRow{State: got.State, Type: got.Type, Members: got.Members, Partitions: got.Partitions}, group)
}

// requireMembersNamed checks that each commit whose metadata is a member's id is ascribed to
// that member, with its client id and host.
func requireMembersNamed(t *testing.T, d *daemon, groups ...*kgoGroup) {
	t.Helper()
	for _, g := range groups {
		named := map[string]int{}
		for _, row := range rows[api.ChangeRow](d, "history", g.group) {
			if client, ok := g.clientOf(string(row.Metadata)); ok {
				named[client]++
				require.Equal(t, "member", row.Who.Kind)
				require.Equal(t, row.Metadata, row.Who.MemberID)
				require.Equal(t, api.Text(client), row.Who.ClientID)
				require.Equal(t, api.Text("/127.0.0.1"), row.Who.Host)
			}
		}
		require.Len(t, named, len(g.members))
	}
}
