package ledger

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Subjects of the ledger start with this token.
const subjectRoot = "ol"

// WatermarkShards is the number of subjects over which watermarks of topics are spread.
const WatermarkShards = 16

// CursorShardAll is the cursor shard of a capture that reads all source partitions.
const CursorShardAll = "0"

// Limits of a token, see [Token]. The subject of an event stays well below what NATS takes.
const (
	maxToken  = 255
	keptToken = 200
)

// Token returns name as one subject token: letters, digits, `_` and `-` stay, `.` becomes
// `/`, any other byte `=HH`, and the empty name `=0`. A result over 255 bytes is cut to at
// most 200, never inside an escape, followed by `=~` and the base32hex of the first 16 bytes
// of the name's SHA-256. Distinct names have distinct tokens; only a cut one cannot be
// turned back, which is why events carry the full name as well.
func Token(name string) string {
	if name == "" {
		return "=0"
	}
	if plainToken(name) {
		return name
	}
	var b strings.Builder
	cut := 0 // longest prefix of whole bytes within keptToken
	for i := range len(name) {
		writeByte(&b, name[i])
		if b.Len() <= keptToken {
			cut = b.Len()
		}
	}
	if b.Len() <= maxToken {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return b.String()[:cut] + "=~" + base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
}

func plainToken(name string) bool {
	if len(name) > maxToken {
		return false
	}
	for i := range len(name) {
		if !plainByte(name[i]) {
			return false
		}
	}
	return true
}

func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func writeByte(b *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	switch {
	case plainByte(c):
		b.WriteByte(c)
	case c == '.':
		b.WriteByte('/')
	default:
		b.WriteByte('=')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
}

// ParseToken is the inverse of [Token]. It fails on a spelling that Token would not have
// chosen, so that token and name are one to one, and on a token that was cut.
func ParseToken(token string) (string, error) {
	if token == "=0" {
		return "", nil
	}
	if strings.Contains(token, "=~") {
		return "", fmt.Errorf("token %q stands for a name too long to spell: read it from the event", token)
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		switch c := token[i]; c {
		case '/':
			b.WriteByte('.')
		case '=':
			if i+2 >= len(token) {
				return "", fmt.Errorf("token %q ends inside an escape", token)
			}
			n, err := strconv.ParseUint(token[i+1:i+3], 16, 8)
			if err != nil {
				return "", fmt.Errorf("token %q has an escape that is not hexadecimal", token)
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	if name := b.String(); Token(name) == token {
		return name, nil
	}
	return "", fmt.Errorf("token %q is not in canonical form", token)
}

// OfGroup reports whether e is about one group: Group.
func (e *Event) OfGroup() bool {
	return e.Kind.OfGroup() || e.Kind == KindGap && e.Gap != nil && e.Gap.OfGroup
}

// Subject returns the subject that e is stored under. It is a function of the event alone,
// which must have the payload of its kind, as every decoded and every valid event has.
func (e *Event) Subject() string {
	switch e.Kind {
	case KindTopic:
		return TopicSubject(e.Cluster, e.Topic, e.Kind)
	case KindWatermarks:
		return WatermarkSubject(e.Cluster, e.Watermarks.Shard)
	case KindCursor:
		return CursorSubject(e.Cluster, e.Cursor.Shard)
	case KindGap:
		if e.Gap.OfGroup {
			return GroupSubject(e.Cluster, e.Group, e.Kind)
		}
		return SourceSubject(e.Cluster, e.Gap.SourcePartition, e.Kind)
	case KindOpaque:
		return SourceSubject(e.Cluster, e.Source.Partition, e.Kind)
	case KindOperator, KindSnapshot:
		return clusterSubject(e.Cluster, e.Kind)
	default:
		return GroupSubject(e.Cluster, e.Group, e.Kind)
	}
}

// GroupSubject is the subject of a group's events of one kind: ol.<cluster>.g.<group>.<kind>.
func GroupSubject(cluster, group string, kind Kind) string {
	return join(cluster, "g", Token(group), kind.String())
}

// GroupSubjects matches everything that is stored of one group.
func GroupSubjects(cluster, group string) string { return join(cluster, "g", Token(group), ">") }

// AllGroupSubjects matches everything that is stored of the groups of a cluster.
func AllGroupSubjects(cluster string) string { return join(cluster, "g", ">") }

// TopicSubject is the subject of a topic's events of one kind: ol.<cluster>.t.<topic>.<kind>.
func TopicSubject(cluster, topic string, kind Kind) string {
	return join(cluster, "t", Token(topic), kind.String())
}

// TopicSubjects matches everything that is stored of the lives of a cluster's topics.
func TopicSubjects(cluster string) string { return join(cluster, "t", ">") }

// OneTopicSubjects matches everything that is stored of the lives of one topic.
func OneTopicSubjects(cluster, topic string) string { return join(cluster, "t", Token(topic), ">") }

// WatermarkSubjects matches the watermarks of a cluster.
func WatermarkSubjects(cluster string) string { return join(cluster, "w", "*") }

// CursorSubjects matches what is stored of capture's position in a cluster.
func CursorSubjects(cluster string) string { return join(cluster, "c", "*") }

// SourceSubjects matches what was found in the partitions of a cluster's __consumer_offsets.
func SourceSubjects(cluster string) string { return join(cluster, "s", ">") }

// WatermarkSubject is the subject of one shard of watermarks: ol.<cluster>.w.<shard>.
func WatermarkSubject(cluster string, shard int32) string {
	return join(cluster, "w", strconv.FormatInt(int64(shard), 10))
}

// CursorSubject is the subject of capture's position: ol.<cluster>.c.<shard>.
func CursorSubject(cluster, shard string) string { return join(cluster, "c", Token(shard)) }

// SourceSubject is the subject of what was found in one partition of __consumer_offsets:
// ol.<cluster>.s.<partition>.<kind>.
func SourceSubject(cluster string, partition int32, kind Kind) string {
	return join(cluster, "s", strconv.FormatInt(int64(partition), 10), kind.String())
}

// OperatorSubject is the subject of what operators did in a cluster: ol.<cluster>.o.operator.
func OperatorSubject(cluster string) string { return clusterSubject(cluster, KindOperator) }

func clusterSubject(cluster string, kind Kind) string { return join(cluster, "o", kind.String()) }

// ClusterSubjects matches everything that is stored of one cluster.
func ClusterSubjects(cluster string) string { return join(cluster, ">") }

func join(cluster string, tokens ...string) string {
	return subjectRoot + "." + Token(cluster) + "." + strings.Join(tokens, ".")
}

// WatermarkShard returns the shard of a topic's watermarks: FNV-1a 64 of its name, modulo
// [WatermarkShards].
func WatermarkShard(topic string) int32 {
	h := fnv.New64a()
	h.Write([]byte(topic))
	return int32(h.Sum64() % WatermarkShards)
}

// MatchSubject reports whether subject is one that pattern selects, by the rules of [Filter].
func MatchSubject(pattern, subject string) bool {
	for {
		p, restP, moreP := strings.Cut(pattern, ".")
		s, restS, moreS := strings.Cut(subject, ".")
		if p == ">" && !moreP {
			return true
		}
		if p != "*" && p != s {
			return false
		}
		if moreP != moreS {
			return false
		}
		if !moreP {
			return true
		}
		pattern, subject = restP, restS
	}
}
