package projection_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

func (h *history) who(ev ledger.Event) *projection.Who {
	h.t.Helper()
	changes := h.add(ev)
	require.NotEmpty(h.t, changes)
	require.NotNil(h.t, changes[0].Who)
	return changes[0].Who
}

func TestWhoOfAClassicGroup(t *testing.T) {
	h := newHistory(t)
	require.Equal(t, projection.WhoUnknown, h.who(commit(500, row(0, 1, 0))).Kind, "compaction may hide the members")
	h.add(cursor(600))
	require.Equal(t, projection.WhoNoMember, h.who(commit(700, row(0, 2, 1))).Kind, "no group record: it assigns by hand")
	h.add(classic(1000, 1, member("m1", 0), member("m2", 1, 2), member("m3", 2)))

	named := row(1, 5, 2)
	named.Metadata = "m1"
	who := h.who(commit(1100, named))
	require.Equal(t, projection.WhoMember, who.Kind)
	require.Equal(t, "m1", who.MemberID, "metadata goes before assignment")
	require.Equal(t, "client-m1", who.ClientID)
	require.Equal(t, "/10.0.0.1", who.Host)
	require.True(t, who.Inferred)

	who = h.who(commit(1200, row(1, 6, 3)))
	require.Equal(t, "m2", who.MemberID, "assigned to it alone")
	require.Equal(t, projection.WhoMembersPresent, h.who(commit(1300, row(2, 6, 4))).Kind, "assigned to two")
	require.Equal(t, projection.WhoMembersPresent, h.who(commit(1300, row(9, 6, 4))).Kind, "assigned to none")

	h.add(classic(2000, 2))
	who = h.who(commit(2100, row(1, 0, 5)))
	require.Equal(t, projection.WhoNoMember, who.Kind)
	require.Len(t, who.Evidence, 2, "no leader epoch and no metadata, as admin tools write")
	withEpoch := row(1, 0, 6)
	withEpoch.LeaderEpoch = ledger.EpochOf(0)
	require.Len(t, h.who(commit(2200, withEpoch)).Evidence, 1)
}

// The first join of a new group writes a record of generation 0 without protocol. Nothing
// became empty by it.
func TestGroupMadeByAFirstJoin(t *testing.T) {
	h := newHistory(t)
	h.add(classic(1000, 0))
	g, _ := h.state.Group("c", "g")
	require.Equal(t, projection.GroupStatePreparingRebalance, g.State)
	h.add(classic(1100, 1, member("m", 0)))
	h.add(classic(1200, 2))
	g, _ = h.state.Group("c", "g")
	require.Equal(t, projection.GroupStateEmpty, g.State)
	require.Equal(t, at(1200), g.Since)
}

// A KIP-848 group is told piece by piece: its epoch, each member, each assignment, which
// names topics by id. A static member that left for a while is still a member.
func TestKIP848Members(t *testing.T) {
	id := uuid.MustParse("00000000-0000-0000-0000-00000000000a")
	piece := func(ms int64, recordType int16, epoch int32, deleted bool, members ...ledger.Member) ledger.Event {
		return ledger.Event{Kind: ledger.KindGroup, Group: "g", Time: at(ms), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
			Membership: &ledger.Membership{Type: ledger.GroupTypeConsumer, RecordType: recordType, Generation: epoch, Deleted: deleted, Members: members}}
	}
	described := ledger.Member{ID: "m1", InstanceID: "s1", ClientID: "app", Host: "/10.0.0.7"}
	assigned := ledger.Member{ID: "m1", Assigned: []ledger.TopicPartitions{{TopicID: id, Partitions: []int32{0}}}}
	r := row(0, 5, 0)
	r.TopicID = id

	h := newHistory(t)
	h.add(piece(1000, 3, 1, false))
	h.add(piece(1000, 5, 0, false, described))
	h.add(piece(1000, 8, 1, false, assigned))
	who := h.who(commit(1100, r))
	require.Equal(t, "m1", who.MemberID)
	require.Equal(t, "app", who.ClientID)

	h.add(piece(1200, 8, -2, false, ledger.Member{ID: "m1"}))
	g, _ := h.state.Group("c", "g")
	require.Equal(t, projection.GroupStateStable, g.State)
	require.EqualValues(t, -2, g.Members[0].Epoch)
	require.Equal(t, projection.WhoMembersPresent, h.who(commit(1250, r)).Kind)

	h.add(piece(1300, 8, 0, true, ledger.Member{ID: "m1"}))
	h.add(piece(1300, 5, 0, true, ledger.Member{ID: "m1"}))
	g, _ = h.state.Group("c", "g")
	require.Equal(t, projection.GroupStateEmpty, g.State)
	require.Equal(t, at(1300), g.Since)
	require.Equal(t, projection.WhoNoMember, h.who(commit(1400, r)).Kind)

	h.add(tombstone(1500, ledger.CauseGroupDeleted, row(0, 0, 9)))
	h.add(piece(1500, 3, 0, true))
	g, _ = h.state.Group("c", "g")
	require.Equal(t, projection.GroupStateDeleted, g.State)
}

// Brokers before 4.1 write no topic id into offsets, so a member that committed before the
// topic's id was told is known as the owner of its partition from then on.
func TestKIP848OwnersOnceTheTopicIDIsKnown(t *testing.T) {
	id := uuid.MustParse("00000000-0000-0000-0000-00000000000a")
	h := newHistory(t)
	h.add(ledger.Event{Kind: ledger.KindGroup, Group: "g", Time: at(1000), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
		Membership: &ledger.Membership{Type: ledger.GroupTypeConsumer, RecordType: 8, Generation: 1, Members: []ledger.Member{
			{ID: "m1", Assigned: []ledger.TopicPartitions{{TopicID: id, Partitions: []int32{0}}}}}}})
	require.Equal(t, projection.WhoMembersPresent, h.who(commit(1100, row(0, 5, 0))).Kind)

	h.add(watermarksOf(1200, ledger.Watermark{Topic: "t", TopicID: id, LogEnd: 9}))
	require.Equal(t, "m1", h.who(commit(1300, row(0, 6, 1))).MemberID)
}

func TestJump(t *testing.T) {
	t.Run("far faster than ever seen", func(t *testing.T) {
		h := newHistory(t)
		h.add(classic(500, 1, member("m", 0)))
		for i := range int64(5) {
			require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(1000+5000*i, row(0, 1000*i, i)))))
		}
		changes := h.add(commit(26_000, row(0, 56_310, 9)))
		require.Equal(t, moved(projection.MovementJump), movements(changes))
		require.Equal(t, projection.WhoMember, changes[0].Who.Kind)
		require.Equal(t, "52310 offsets in 5000 ms; the fastest seen before was 200 a second", changes[0].Evidence)
		require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(31_000, row(0, 106_310, 10)))), "twice in a row is catching up")
	})
	t.Run("after a jump that was taken back it is one again", func(t *testing.T) {
		h := newHistory(t)
		for i := range int64(5) {
			h.add(commit(1000+5000*i, row(0, 1000*i, i)))
		}
		require.Equal(t, moved(projection.MovementJump), movements(h.add(commit(26_000, row(0, 56_310, 5)))))
		require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(31_000, row(0, 4000, 6)))))
		require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(36_000, row(0, 56_310, 7)))), "it had come there before")
		require.Equal(t, moved(projection.MovementJump), movements(h.add(commit(41_000, row(0, 106_310, 8)))))
	})
	t.Run("reading again is as fast as it can be", func(t *testing.T) {
		h := newHistory(t)
		for i := range int64(5) {
			h.add(commit(1000+5000*i, row(0, 1_000_000+1000*i, i)))
		}
		require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(26_000, row(0, 0, 5)))))
		for i := range int64(5) {
			require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(31_000+5000*i, row(0, 200_000*(i+1), 6+i)))))
		}
		require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(56_000, row(0, 1_010_000, 11)))))
		require.Equal(t, moved(projection.MovementJump), movements(h.add(commit(61_000, row(0, 1_200_000, 12)))))
	})
	t.Run("bursts of a slow topic are no jump", func(t *testing.T) {
		h := newHistory(t)
		for i := range int64(5) {
			h.add(commit(1000+60_000*i, row(0, i, i)))
		}
		require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(241_100, row(0, 900, 9)))))
	})
	t.Run("made by no member", func(t *testing.T) {
		h := newHistory(t)
		h.add(classic(500, 1, member("m", 0)))
		h.add(commit(1000, row(0, 10, 0)))
		h.add(classic(2000, 2))
		require.Equal(t, moved(projection.MovementJump), movements(h.add(commit(3000, row(0, 11, 1)))))
	})
	t.Run("a group that never had members reads by itself", func(t *testing.T) {
		h := newHistory(t)
		h.add(cursor(500))
		h.add(commit(1000, row(0, 10, 0)))
		changes := h.add(commit(3000, row(0, 20, 1)))
		require.Equal(t, moved(projection.MovementAdvance), movements(changes))
		require.Equal(t, projection.WhoNoMember, changes[0].Who.Kind)
	})
}

// A producer commits its transaction and leaves the group; the marker comes last. Nobody from
// outside made that commit, so it is no jump.
func TestMarkerAfterTheLastMemberLeft(t *testing.T) {
	h := newHistory(t)
	h.add(classic(500, 1, member("m", 0)))
	h.add(inTransaction(1000, row(0, 10, 7)))
	left := classic(2000, 2)
	left.Source.Offset = 9
	h.add(left)
	changes := h.add(inTransaction(2100, row(0, 20, 8)))
	require.Equal(t, moved(projection.MovementAdvance), movements(changes))
	require.Equal(t, projection.WhoUnknown, changes[0].Who.Kind)
	require.Equal(t, moved(projection.MovementJump), movements(h.add(inTransaction(3000, row(0, 30, 10)))))
}
