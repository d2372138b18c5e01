package kafka

import "github.com/offsetledger/offsetledger/ledger"

// keySet is a set of partitions that is filled and cleared for every commit, and so keeps its
// memory: one bit a partition. The zero set is empty.
type keySet struct {
	topics map[string]int // index into bits
	bits   [][]uint64     // by topic, then partition
	last   string         // topic of the last key
	at     int            // its index
	odd    map[ledger.TopicPartition]struct{}
}

// maxBit is the number of partitions of a topic that have bits. A damaged record can claim any
// number.
const maxBit = 1 << 16

func (s *keySet) has(topic string, partition int32) bool {
	if partition < 0 || partition >= maxBit {
		_, ok := s.odd[ledger.TopicPartition{Topic: topic, Partition: partition}]
		return ok
	}
	if !s.find(topic) {
		return false
	}
	bits, word := s.bits[s.at], int(partition/64)
	return word < len(bits) && bits[word]&(1<<(partition%64)) != 0
}

func (s *keySet) add(topic string, partition int32) {
	if partition < 0 || partition >= maxBit {
		if s.odd == nil {
			s.odd = map[ledger.TopicPartition]struct{}{}
		}
		s.odd[ledger.TopicPartition{Topic: topic, Partition: partition}] = struct{}{}
		return
	}
	if !s.find(topic) {
		s.begin(topic)
	}
	bits, word := &s.bits[s.at], int(partition/64)
	for len(*bits) <= word {
		*bits = append(*bits, 0)
	}
	(*bits)[word] |= 1 << (partition % 64)
}

// find makes topic the last one, if it is in the set.
func (s *keySet) find(topic string) bool {
	if len(s.topics) > 0 && s.last == topic {
		return true
	}
	at, ok := s.topics[topic]
	if ok {
		s.last, s.at = topic, at
	}
	return ok
}

func (s *keySet) begin(topic string) {
	if s.topics == nil {
		s.topics = map[string]int{}
	}
	s.last, s.at = topic, len(s.topics)
	s.topics[topic] = s.at
	if s.at == len(s.bits) {
		s.bits = append(s.bits, nil)
	}
	s.bits[s.at] = s.bits[s.at][:0]
}

func (s *keySet) clear() {
	clear(s.topics)
	clear(s.odd)
}
