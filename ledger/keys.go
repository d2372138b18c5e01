package ledger

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// topicKey is an entry of the table of topics that a list of rows starts with.
type topicKey struct {
	name string
	id   uuid.UUID
}

// run is a number of neighbouring rows of one topic.
type run struct {
	topic, rows int
}

// appendKeys writes the columns that say which partition each row is about: their number, a
// table of the topics in order of first use, the runs of rows of one topic, and partitions as
// the difference to the one after the row before.
func appendKeys(b []byte, n int, key func(int) (string, *uuid.UUID, int32)) []byte {
	b = putUint(b, keyRows, uint64(n))
	b = appendTopics(b, n, key)
	b, mark := open(b, keyPartition)
	start := mark - 2 // before tag and length
	var next int32
	var first uint64
	same, firstEnd := true, 0
	previous, id, _ := key(0)
	for i := range n {
		topic, topicID, p := key(i)
		if topic != previous || *topicID != *id {
			next, previous, id = 0, topic, topicID
		}
		element := zigzag32(p - next)
		next = p + 1
		b = protowire.AppendVarint(b, element)
		if i == 0 {
			first, firstEnd = element, len(b)
		}
		same = same && element == first
	}
	switch {
	case same && first == 0:
		return b[:start]
	case same:
		b = b[:firstEnd]
	}
	return shut(b, mark)
}

// appendTopics writes the table of topics and the runs.
func appendTopics(b []byte, n int, key func(int) (string, *uuid.UUID, int32)) []byte {
	var topicSpace [4]topicKey
	var runSpace [8]run
	topics, runs := topicSpace[:0], runSpace[:0]
	var index map[topicKey]int // of topics, once they are too many to look through
	var previous string
	var previousID *uuid.UUID
	for i := range n {
		name, id, _ := key(i)
		if previousID != nil && name == previous && *id == *previousID {
			runs[len(runs)-1].rows++
			continue
		}
		previous, previousID = name, id
		var at int
		topics, index, at = indexOf(topics, index, topicKey{name, *id})
		runs = append(runs, run{topic: at, rows: 1})
	}
	known := false
	for i := range topics {
		b = protowire.AppendString(protowire.AppendTag(b, keyTopic, protowire.BytesType), topics[i].name)
		known = known || topics[i].id != uuid.Nil
	}
	for i := range topics {
		switch {
		case !known:
		case topics[i].id == uuid.Nil:
			b = protowire.AppendBytes(protowire.AppendTag(b, keyTopicID, protowire.BytesType), nil)
		default:
			b = putUUID(b, keyTopicID, topics[i].id)
		}
	}
	return appendRuns(b, runs, len(topics))
}

// appendRuns writes the lengths of the runs, unless there is only one, and their topics,
// unless each run has the next.
func appendRuns(b []byte, runs []run, topics int) []byte {
	if len(runs) == 1 {
		return b
	}
	b, mark := open(b, keyRunRows)
	for _, r := range runs {
		b = protowire.AppendVarint(b, uint64(r.rows))
	}
	b = shut(b, mark)
	if len(runs) == topics {
		return b
	}
	b, mark = open(b, keyRunTopic)
	for _, r := range runs {
		b = protowire.AppendVarint(b, uint64(r.topic))
	}
	return shut(b, mark)
}

// indexOf finds or adds a topic. A map is only worth it where there are many.
func indexOf(topics []topicKey, index map[topicKey]int, k topicKey) ([]topicKey, map[topicKey]int, int) {
	const few = 16
	if index == nil {
		for i := range topics {
			if topics[i] == k {
				return topics, nil, i
			}
		}
		if len(topics) < few {
			return append(topics, k), nil, len(topics)
		}
		index = make(map[topicKey]int, 2*few)
		for i, t := range topics {
			index[t] = i
		}
	}
	i, ok := index[k]
	if !ok {
		i = len(topics)
		topics, index[k] = append(topics, k), i
	}
	return topics, index, i
}
