package kafka

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// A transaction that is too large for one event commits an offset twice, far apart. Whatever
// the number of events that its end takes, and wherever capture dies between them, no moment
// shows the first value: OffsetFetch never answered it.
func TestOffsetCommittedTwiceInATransactionOfManyEvents(t *testing.T) {
	for name, between := range map[string]func(s *source){
		"many groups": func(s *source) {
			for i := range 3 * stepGroups {
				s.within(7, fmt.Sprint("h", i), "t", 0, 1)
			}
		},
		"many bytes": func(s *source) {
			for p := range int32(30_000) {
				s.within(7, "g", "t", 1+p, 1)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &source{at: 1000}
			s.plain("g", "t", 0, 5)
			s.within(7, "g", "t", 0, 100)
			between(s)
			s.within(7, "g", "t", 0, 90)
			s.marker(7, true)
			lt := newLineTest(t)
			lt.feedDyingAtEachStep(s.all)
			f := newFold(t)
			f.apply(lt.log)
			require.Equal(t, []int64{5, 90}, f.readOf("g", "t", 0))
			committed := 0
			for _, e := range lt.log {
				committed += len(e.Offsets)
			}
			require.Equal(t, len(s.all)-1, committed, "the replaced row is told as well, as what it is")
		})
	}
}

// The replaced row of a transaction that was cut back is replaced no longer: what stood in its
// place is gone.
func TestRowIsReplacedOnlyWhileItsSuccessorIsThere(t *testing.T) {
	s, lt := &source{at: 1000}, newLineTest(t)
	s.within(7, "g", "t", 0, 100)
	s.within(7, "g", "t", 0, 90)
	lt.feed(s.all...)
	lt.line.pending.committed(7)
	require.Equal(t, ledger.FlagReplaced, lt.line.pending.open[7].rows[0].row.Flags)
	lt.line.cutBack(1)
	s.next = 1
	f := newFold(t)
	f.apply(lt.feed(s.marker(7, true)))
	require.Equal(t, []int64{100}, f.readOf("g", "t", 0))
}

// feedDyingAtEachStep feeds records, and dies each time after a marker gave something out.
func (lt *lineTest) feedDyingAtEachStep(records []sourceRecord) {
	for i := 0; i < len(records); {
		r := &records[i]
		require.NoError(lt.t, lt.line.feed(r, lt.now))
		if i++; r.control {
			i = int(lt.crash())
		}
	}
	lt.feed()
}

// readOf are the values that clients could read of one offset, in order.
func (f *fold) readOf(group, topic string, partition int32) (ats []int64) {
	for _, c := range f.changes {
		if c.Group == group && c.Topic == topic && c.Partition == partition && c.To.Exists {
			ats = append(ats, c.To.At)
		}
	}
	return ats
}
