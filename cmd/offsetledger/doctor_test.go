package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// examine runs doctor to its end and returns what it printed, with what differs from run to
// run replaced by words.
func examine(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	r := launch(t, append([]string{"doctor"}, args...)...)
	require.Equal(t, code, r.wait(), "%s", &r.stderr)
	return settled(r.stdout.String()), settled(r.stderr.String())
}

var unsettled = []struct {
	is   *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "BROKER"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UUID"},
	{regexp.MustCompile(`"(rows_per_second|bytes_per_day)":[0-9.e+]+`), `"$1":RATE`},
	{regexp.MustCompile(`\d+(\.\d)? (B|kB|MB) a day, at`), "RATE a day, at"},
}

func settled(text string) string {
	for _, u := range unsettled {
		text = u.is.ReplaceAllString(text, u.word)
	}
	return text
}

const doctorTable = `KAFKA    BROKER PLAINTEXT   cluster kfake
CAPTURE  tail: the principal may read __consumer_offsets
HOLDS    1 group, 1 topic, 2 partitions; __consumer_offsets has 4 partitions, oldest record TIME
EXPECT   RATE a day, at the 0 offsets a second of the last 2s, 12.2 bytes each (none was seen, so ten at once are taken)
         and up to 55.0 kB a day of watermarks, if all partitions are written to all the time
RIGHT                          ANSWER  NEEDED  DETAIL
reach the cluster              yes     yes     Kafka cluster kfake, 1 broker
describe the cluster           yes     no      all groups can be seen
list groups                    yes     no      1 group
describe groups                yes     no      -
read __consumer_offsets        yes     yes     4 partitions, oldest record of TIME
describe topics                yes     no      1 topic, 2 partitions
describe broker configuration  yes     no      offsets.retention.minutes is 10080
`

const doctorJSON = `{"kind":"doctor","version":1,"ok":true,"kafka":{"brokers":"BROKER PLAINTEXT","cluster_id":"kfake",` +
	`"capture":"tail","why":"the principal may read __consumer_offsets","groups":1,"topics":1,"partitions":2,` +
	`"source_partitions":4,"oldest_record":"TIME","offsets_retention_seconds":604800,"rows_per_second":RATE,"rows_per_event":null,"bytes_per_row":12.2,"bytes_per_day":RATE,` +
	`"watermark_bytes_per_day":55000,"rights":[` +
	`{"key":"reach","name":"reach the cluster","known":true,"ok":true,"needed":true,"detail":"Kafka cluster kfake, 1 broker","mend":""},` +
	`{"key":"describe-cluster","name":"describe the cluster","known":true,"ok":true,"needed":false,"detail":"all groups can be seen","mend":""},` +
	`{"key":"list-groups","name":"list groups","known":true,"ok":true,"needed":false,"detail":"1 group","mend":""},` +
	`{"key":"describe-groups","name":"describe groups","known":true,"ok":true,"needed":false,"detail":"","mend":""},` +
	`{"key":"read-offsets","name":"read __consumer_offsets","known":true,"ok":true,"needed":true,"detail":"4 partitions, oldest record of TIME","mend":""},` +
	`{"key":"describe-topics","name":"describe topics","known":true,"ok":true,"needed":false,"detail":"1 topic, 2 partitions","mend":""},` +
	`{"key":"describe-configs","name":"describe broker configuration","known":true,"ok":true,"needed":false,"detail":"offsets.retention.minutes is 10080","mend":""}` +
	`]},"ledger":null}` + "\n"

func TestDoctorOnAClusterThatAllowsAll(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	require.NoError(t, fake.Sync(t.Context()))
	for _, c := range []struct{ output, want string }{{outTable, doctorTable}, {outJSON, doctorJSON}} {
		stdout, stderr := examine(t, exitDone, "-B", fake.Addrs()[0], "-o", c.output)
		require.Equal(t, c.want, stdout)
		require.Empty(t, stderr)
	}
}

const awayTable = `KAFKA    BROKER PLAINTEXT   cluster unknown
CAPTURE  none: the cluster cannot be reached
RIGHT              ANSWER  NEEDED  DETAIL
reach the cluster  no      yes     connection refused, nothing listens on the port; mend: check host and port, and that the broker runs
`

// What could not be found out is null, not zero.
const awayJSON = `{"kind":"doctor","version":1,"ok":false,"kafka":{"brokers":"BROKER PLAINTEXT","cluster_id":null,` +
	`"capture":"none","why":"the cluster cannot be reached","groups":null,"topics":null,"partitions":null,` +
	`"source_partitions":null,"oldest_record":null,"offsets_retention_seconds":null,"rows_per_second":null,"rows_per_event":null,"bytes_per_row":null,"bytes_per_day":null,` +
	`"watermark_bytes_per_day":null,"rights":[` +
	`{"key":"reach","name":"reach the cluster","known":true,"ok":false,"needed":true,"detail":"connection refused, nothing listens on the port",` +
	`"mend":"check host and port, and that the broker runs"}]},"ledger":null}` + "\n"

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestDoctorOnABrokerThatIsAway(t *testing.T) {
	away := nobody(t)
	for _, c := range []struct{ output, want string }{{outTable, awayTable}, {outJSON, awayJSON}} {
		stdout, stderr := examine(t, exitCheck, "-B", away, "-o", c.output)
		require.Equal(t, c.want, stdout)
		require.Equal(t, "error: the daemon cannot do without: reach the cluster: connection refused, nothing listens on the port; "+
			"mend: check host and port, and that the broker runs\n", stderr)
	}
}

// A principal that may ask for groups but not read the topic is told which right is missing and
// how it is given, by doctor and by serve alike: there is no other way to capture.
func TestDoctorWithoutTheRightToRead(t *testing.T) {
	t.Parallel() // it waits more than it works
	describe := func(resource kmsg.ACLResourceType, name string) kfake.ACL {
		return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true}
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.SeedTopics(2, "t"), kfake.SeedTopics(4, kafkatest.OffsetsTopic), kfake.User("PLAIN", "capture", "secret",
			describe(kmsg.ACLResourceTypeTopic, "*"), describe(kmsg.ACLResourceTypeGroup, "*"), describe(kmsg.ACLResourceTypeCluster, "kafka-cluster")),
		kfake.User("PLAIN", "blind", "secret"))
	require.NoError(t, err)
	defer cluster.Close()
	as := func(user string) []string {
		properties := filepath.Join(t.TempDir(), "client.properties")
		require.NoError(t, os.WriteFile(properties, []byte("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"+
			`sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="`+user+`" password="secret";`+"\n"), 0o600))
		return []string{"-B", cluster.ListenAddrs()[0], "--command-config", properties}
	}
	at := as("capture")

	const missing = "read __consumer_offsets: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]; " +
		"mend: kafka-acls --add --allow-principal User:NAME --operation Read --topic __consumer_offsets\n"
	stdout, stderr := examine(t, exitCheck, at...)
	require.Regexp(t, `(?m)^CAPTURE  none: the principal may not read __consumer_offsets$`, stdout)
	require.Regexp(t, `(?m)^read __consumer_offsets +no +yes `, stdout)
	require.Regexp(t, `(?m)^list groups +yes +no `, stdout)
	require.Regexp(t, `(?m)^HOLDS .*; __consumer_offsets has 4 partitions, oldest record -$`, stdout)
	require.Equal(t, "error: the daemon cannot do without: "+missing, stderr)

	dir := filepath.Join(t.TempDir(), "ledger")
	r := launch(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dir}, at...)...)
	require.Equal(t, exitFailed, r.wait(), "%s", &r.stderr)
	require.Contains(t, r.stderr.String(), missing)

	// Who may not even see the topic cannot tell that it has no partitions.
	stdout, _ = examine(t, exitCheck, as("blind")...)
	require.Regexp(t, `(?m)^HOLDS .*; __consumer_offsets has unknown partitions, oldest record -$`, stdout)
	stdout, _ = examine(t, exitCheck, append(as("blind"), "-o", "json")...)
	require.Contains(t, stdout, `"source_partitions":null`)
}

// Beside a daemon the stream is looked at through it, whether its directory or its address is
// named.
func TestDoctorBesideARunningDaemon(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	dir := filepath.Join(t.TempDir(), "ledger")
	d := serveKafka(t, dir, fake.Addrs()[0])
	for _, where := range [][]string{{"--data-dir", dir}, {"--api", d.url}} {
		stdout, stderr := examine(t, exitDone, where...)
		require.Empty(t, stderr)
		require.Regexp(t, `^LEDGER   \d+ events, \d+(\.\d k| )B before compression, from TIME to TIME; too young to say how it grows\nCHECK +ANSWER +NEEDED +DETAIL\n`, stdout)
		require.Regexp(t, `(?m)^limits +yes +yes +messages -1, bytes -1, age 0s`, stdout)
		require.Regexp(t, `(?m)^sync +yes +no +the server syncs to disk before it acknowledges$`, stdout)
		require.NotContains(t, stdout, "mend: ")
	}
	stdout, _ := examine(t, exitDone, "-B", fake.Addrs()[0], "--api", d.url, "-o", "json")
	var both diagnosis
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(strings.ReplaceAll(stdout, ":RATE", ":1"), `"TIME"`, "null")), &both))
	require.True(t, both.OK)
	require.NotNil(t, both.Kafka)
	require.NotNil(t, both.Ledger)
	require.Positive(t, both.Ledger.Events)
}

// A stream that the daemon would refuse is looked at all the same, and each fault is named.
func TestDoctorOnAStreamThatWouldBeRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	unsafeLedger(t, dir)
	stdout, stderr := examine(t, exitCheck, "--data-dir", dir)
	require.Regexp(t, `(?m)^limits +no +yes +messages 10, .*; mend: `, stdout)
	require.Regexp(t, `(?m)^deny delete +no +yes `, stdout)
	require.Regexp(t, `(?m)^storage +yes +yes `, stdout)
	require.Contains(t, stderr, "error: the daemon cannot do without: limits: messages 10")
	require.NotContains(t, stderr, "storage is file")
}

// Doctor changes nothing: it does not even make the directory that it was to look at.
func TestDoctorFindsNoLedger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	stdout, stderr := examine(t, exitFailed, "--data-dir", dir)
	require.Empty(t, stdout)
	require.Equal(t, "error: there is no ledger in "+dir+": go run ./cmd/offsetledger serve --data-dir "+dir+" makes one\n", stderr)
	require.NoDirExists(t, dir)

	// Before the first start of the daemon it is no fault, and what Kafka allows is told.
	fake := startKafka(t)
	stdout, stderr = examine(t, exitDone, "-B", fake.Addrs()[0], "--data-dir", dir)
	require.Regexp(t, `(?m)^CAPTURE  tail: `, stdout)
	require.NotContains(t, stdout, "LEDGER")
	require.Equal(t, "note: there is no ledger in "+dir+" yet: go run ./cmd/offsetledger serve --data-dir "+dir+" makes one\n", stderr)
	require.NoDirExists(t, dir)

	// A daemon that was named and does not answer is one, and what Kafka allows is told too.
	stdout, stderr = examine(t, exitFailed, "-B", fake.Addrs()[0], "--api", "http://"+nobody(t))
	require.Regexp(t, `(?m)^CAPTURE  tail: `, stdout)
	require.Contains(t, stderr, "error: no daemon listens at ")

	_, stderr = examine(t, exitUsage, "-o", "csv")
	require.Contains(t, stderr, "--output csv: it is one of table, json")
}
