package replay

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// A snapshot spreads its groups over 256 parts, so that one group is read without the others. A
// part that would be empty is not written.
const groupParts = 256

// capturePart holds what is known of each cluster as a whole.
const capturePart = "capture"

// incidentsPart holds the incidents up to the state, and no entries. Only a view needs it.
const incidentsPart = "incidents"

// eventsPart lists where the events of each group stand that came since the snapshot before.
const eventsPart = "events"

// groupPart is the part that a group is in: FNV-1a 64 of cluster, a byte 0, and group, modulo 256.
func groupPart(cluster, group string) string {
	h := fnv.New64a()
	h.Write([]byte(cluster))
	h.Write([]byte{0})
	h.Write([]byte(group))
	return fmt.Sprintf("g%02x", h.Sum64()%groupParts)
}

// topicsPart is the part of one shard of all clusters' topics.
func topicsPart(shard int32) string { return fmt.Sprintf("t%x", shard) }

// part is entries one after the other: cluster, name and what [projection.State] wrote, each after
// its length. The name is that of a group, and empty in the other parts.
type part []byte

func (p part) add(cluster, name string, state []byte) part {
	for _, field := range [][]byte{[]byte(cluster), []byte(name), state} {
		p = append(binary.AppendUvarint(p, uint64(len(field))), field...)
	}
	return p
}

type partEntry struct {
	cluster, name string
	state         []byte
}

// entries yields the entries of a part. An error ends it.
func (p part) entries() iter.Seq2[partEntry, error] {
	return func(yield func(partEntry, error) bool) {
		for rest := []byte(p); len(rest) > 0; {
			var fields [3][]byte
			for i := range fields {
				n, size := binary.Uvarint(rest)
				if size <= 0 || n > uint64(len(rest)-size) {
					yield(partEntry{}, &ledger.DamagedError{Field: "snapshot", Detail: "an entry is cut"})
					return
				}
				fields[i], rest = rest[size:size+int(n)], rest[size+int(n):]
			}
			if !yield(partEntry{string(fields[0]), string(fields[1]), fields[2]}, nil) {
				return
			}
		}
	}
}

// partsOf writes down a state, as parts by name.
func partsOf(s *projection.State) (parts map[string]part, groups int) {
	parts = map[string]part{}
	var b []byte
	for _, cluster := range s.Clusters() {
		for group := range s.GroupNames(cluster) {
			name := groupPart(cluster, group)
			b = s.AppendGroup(b[:0], cluster, group)
			parts[name] = parts[name].add(cluster, group, b)
			groups++
		}
		for shard := range int32(ledger.WatermarkShards) {
			name := topicsPart(shard)
			b = s.AppendTopics(b[:0], cluster, shard)
			parts[name] = parts[name].add(cluster, "", b)
		}
		b = s.AppendCapture(b[:0], cluster)
		parts[capturePart] = parts[capturePart].add(cluster, "", b)
	}
	return parts, groups
}

// load takes the entries of a part that a scope needs into the state.
func (p part) load(l *projection.Loader, name string, sc Scope) error {
	for e, err := range p.entries() {
		switch {
		case err != nil:
			return err
		case sc.ofCluster && e.cluster != sc.cluster:
			continue
		case name == capturePart:
			err = l.Capture(e.cluster, e.state)
		case ofTopics(name):
			err = l.Topics(e.cluster, int32(slices.Index(topicsParts, name)), e.state)
		case sc.ofGroup && e.name != sc.group:
			continue
		default:
			err = l.Group(e.cluster, e.name, e.state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var topicsParts = func() (names []string) {
	for shard := range int32(ledger.WatermarkShards) {
		names = append(names, topicsPart(shard))
	}
	return names
}()

// needs reports whether a scope needs anything of a part.
func (sc Scope) needs(name string) bool {
	switch {
	case name == incidentsPart, name == eventsPart:
		return false
	case ofTopics(name):
		shard := slices.Index(topicsParts, name)
		return sc.wants(int32(shard))
	case name[0] == 'g':
		return !sc.ofGroup || name == groupPart(sc.cluster, sc.group)
	}
	return true
}

// isPart reports whether a name is that of a part.
func isPart(name string) bool {
	switch {
	case name == capturePart, name == incidentsPart, name == eventsPart:
		return true
	case strings.HasPrefix(name, "t"):
		return slices.Contains(topicsParts, name)
	}
	group, ok := strings.CutPrefix(name, "g")
	n, err := strconv.ParseUint(group, 16, 8)
	return ok && err == nil && group == fmt.Sprintf("%02x", n)
}

// ofTopics reports whether a part is one of topics.
func ofTopics(name string) bool { return name[0] == 't' }

// The coders are safe for use by several goroutines. That they can be made was seen by the test
// of this package.
var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPart))
)

// maxPart bounds what a part can be unpacked to.
const maxPart = 1 << 30
