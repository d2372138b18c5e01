package ledger

import "google.golang.org/protobuf/encoding/protowire"

// schema names the fields of one message of docs/event.proto by number. Errors use the
// names, and a test holds numbers and names against the text of the file.
type schema struct {
	name   string
	fields []string
}

func (s *schema) field(num protowire.Number) string {
	if int(num) < len(s.fields) && s.fields[num] != "" {
		return s.fields[num]
	}
	return "unknown field"
}

// Columns that name the rows of Rows, Watermarks and OpenTransaction. They have the same
// numbers in each, so that one piece of code reads them.
const (
	keyRows      = 1
	keyTopic     = 2
	keyTopicID   = 3
	keyRunRows   = 4
	keyRunTopic  = 5
	keyPartition = 6
)

var eventSchema = schema{"Event", []string{
	1: "id", 2: "kind", 3: "cluster", 4: "group", 5: "topic", 6: "time", 7: "source",
	8: "offsets", 9: "updates", 10: "before", 11: "not_before", 12: "reason", 13: "actor",
	14: "actor_verified", 15: "plan", 16: "cause", 17: "cause_inferred", 18: "part", 19: "parts",
	20: "membership", 21: "topic_info", 22: "watermarks", 23: "cursor", 24: "gap", 25: "opaque",
	26: "claim", 27: "checkpoint", 28: "operation", 29: "snapshot",
}}

var sourceSchema = schema{"Source", []string{
	1: "kind", 2: "partition", 3: "leader_epoch", 4: "offset", 5: "transactional",
	6: "producer_id", 7: "instance",
}}

var rowsSchema = schema{"Rows", []string{
	1: "rows", 2: "topic", 3: "topic_id", 4: "run_rows", 5: "run_topic", 6: "partition",
	7: "at_base", 8: "at", 9: "leader_epoch", 10: "metadata", 11: "effective",
	12: "commit_time", 13: "expire_time", 14: "source_offset", 15: "error_code", 16: "flags",
}}

var membershipSchema = schema{"Membership", []string{
	1: "type", 2: "record_type", 3: "deleted", 4: "generation", 5: "protocol_type",
	6: "protocol", 7: "leader", 8: "state_time", 9: "members",
}}

var memberSchema = schema{"Member", []string{
	1: "id", 2: "instance_id", 3: "client_id", 4: "host", 5: "session_timeout_millis",
	6: "rebalance_timeout_millis", 7: "subscriptions", 8: "assigned",
}}

var topicPartitionsSchema = schema{"TopicPartitions", []string{
	1: "topic", 2: "topic_id", 3: "partitions",
}}

var topicInfoSchema = schema{"TopicInfo", []string{
	1: "topic_id", 2: "partitions", 3: "deleted", 4: "recreated",
}}

var watermarksSchema = schema{"Watermarks", []string{
	1: "rows", 2: "topic", 3: "topic_id", 4: "run_rows", 5: "run_topic", 6: "partition",
	7: "shard", 8: "complete", 9: "log_end_base", 10: "log_end", 11: "last_stable", 12: "log_start",
	13: "log_end_high", 14: "unanswered",
}}

var cursorSchema = schema{"Cursor", []string{
	1: "shard", 2: "kafka_cluster_id", 3: "topic_id", 4: "complete", 5: "lines",
	6: "partition", 7: "next_base", 8: "next", 9: "leader_epoch", 10: "max_effective",
	11: "complete_through", 12: "open", 13: "hole",
}}

var openSchema = schema{"OpenTransaction", []string{
	1: "rows", 2: "topic", 4: "run_rows", 5: "run_topic", 6: "partition", 7: "line",
	8: "producer_id", 9: "first", 10: "since", 11: "group", 12: "at_base", 13: "at", 14: "position",
}}

var holeSchema = schema{"Hole", []string{1: "line", 2: "first", 3: "last", 4: "until", 5: "from", 6: "removed"}}

var gapSchema = schema{"Gap", []string{
	1: "of_group", 2: "source_partition", 3: "first", 4: "last", 5: "from", 6: "to",
}}

var opaqueSchema = schema{"Opaque", []string{
	1: "key", 2: "value", 3: "value_null", 4: "timestamp", 5: "problem",
}}

var claimSchema = schema{"Claim", []string{1: "instance", 2: "previous"}}

var checkpointSchema = schema{"Checkpoint", []string{1: "name"}}

var operationSchema = schema{"Operation", []string{1: "action", 2: "target", 3: "body"}}

var snapshotSchema = schema{"Snapshot", []string{1: "name", 2: "seq", 3: "digest", 4: "size_bytes"}}
