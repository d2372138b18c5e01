package ledger

import (
	"slices"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// keys gathers the columns that say which partition each row is about: the number of rows, a
// table of the topics in order of first use, the runs of neighbouring rows of one topic, and
// each partition as the difference to the one after the row before.
type keys struct {
	n      int // rows so far
	topics []topicKey
	index  map[topicKey]int // of topics, once they are too many to look through
	runs   []run

	topic topicKey // of the row before
	next  int32    // the partition that costs nothing

	elements []byte // the column of partitions, without the zeros at its end
	written  int    // number of elements
	first    uint64
	vary     bool // some element differs from the first

	scratch []int64
}

// topicKey is an entry of the table of topics.
type topicKey struct {
	name string
	id   uuid.UUID
}

// run says that from row start on, rows are of a topic of the table.
type run struct{ topic, start int }

var keysPool = sync.Pool{New: func() any { return new(keys) }}

// newKeys returns empty keys, to be released.
func newKeys() *keys { return keysPool.Get().(*keys) }

// add takes the next row. Rows of one topic with neighbouring partitions cost next to nothing.
func (k *keys) add(topic string, id *uuid.UUID, partition int32) {
	if !k.follows(topic, id, partition) {
		k.addOther(topic, id, partition)
	}
}

// follows takes the next row if it is what is expected after the one before.
func (k *keys) follows(topic string, id *uuid.UUID, partition int32) bool {
	if k.n == 0 || partition != k.next || topic != k.topic.name || *id != k.topic.id {
		return false
	}
	k.n++
	k.next++
	return true
}

func (k *keys) addOther(topic string, id *uuid.UUID, partition int32) {
	if k.n == 0 || topic != k.topic.name || *id != k.topic.id {
		k.topic, k.next = topicKey{topic, *id}, 0
		k.runs = append(k.runs, run{k.find(k.topic), k.n})
	}
	element := zigzag32(partition - k.next)
	k.next = partition + 1
	if k.n == 0 {
		k.first = element
	}
	if element != 0 {
		k.fill()
		k.vary = k.vary || element != k.first
		k.elements = protowire.AppendVarint(k.elements, element)
		k.written++
	}
	k.n++
}

// fill writes the zeros that were left out.
func (k *keys) fill() {
	for ; k.written < k.n; k.written++ {
		k.elements = append(k.elements, 0)
		k.vary = k.vary || k.first != 0
	}
}

// find returns the place of a topic in the table, and adds it if need be. A map is only worth
// it where there are many.
func (k *keys) find(t topicKey) int {
	const few = 16
	if len(k.topics) <= few {
		for i := range k.topics {
			if k.topics[i] == t {
				return i
			}
		}
	} else if i, ok := k.index[t]; ok {
		return i
	}
	k.topics = append(k.topics, t)
	switch i := len(k.topics) - 1; {
	case i < few:
	case i == few:
		k.index = make(map[topicKey]int)
		for j, topic := range k.topics {
			k.index[topic] = j
		}
	default:
		k.index[t] = i
	}
	return len(k.topics) - 1
}

// append writes the columns.
func (k *keys) append(b []byte) []byte {
	b = putUint(b, keyRows, uint64(k.n))
	known := false
	for i := range k.topics {
		b = protowire.AppendString(protowire.AppendTag(b, keyTopic, protowire.BytesType), k.topics[i].name)
		known = known || k.topics[i].id != uuid.Nil
	}
	for i := range k.topics {
		switch {
		case !known:
		case k.topics[i].id == uuid.Nil:
			b = protowire.AppendBytes(protowire.AppendTag(b, keyTopicID, protowire.BytesType), nil)
		default:
			b = putUUID(b, keyTopicID, k.topics[i].id)
		}
	}
	return k.appendPartitions(k.appendRuns(b))
}

// offsets is room for n offsets, until k is released.
func (k *keys) offsets(n int) []int64 {
	k.scratch = slices.Grow(k.scratch[:0], n)[:n]
	return k.scratch
}

// release gives the memory of k back.
func (k *keys) release() {
	clear(k.topics)
	*k = keys{topics: k.topics[:0], runs: k.runs[:0], elements: k.elements[:0], scratch: k.scratch}
	keysPool.Put(k)
}

// appendRuns writes the lengths of the runs, unless there is only one, and their topics,
// unless each run has the next.
func (k *keys) appendRuns(b []byte) []byte {
	if len(k.runs) <= 1 {
		return b
	}
	b, mark := open(b, keyRunRows)
	for i, r := range k.runs {
		end := k.n
		if i+1 < len(k.runs) {
			end = k.runs[i+1].start
		}
		b = protowire.AppendVarint(b, uint64(end-r.start))
	}
	b = shut(b, mark)
	if len(k.runs) == len(k.topics) {
		return b
	}
	b, mark = open(b, keyRunTopic)
	for _, r := range k.runs {
		b = protowire.AppendVarint(b, uint64(r.topic))
	}
	return shut(b, mark)
}

func (k *keys) appendPartitions(b []byte) []byte {
	if k.written == 0 {
		return b
	}
	k.fill()
	if !k.vary {
		k.elements = k.elements[:protowire.SizeVarint(k.first)]
	}
	return putBytes(b, keyPartition, k.elements)
}
