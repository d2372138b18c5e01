package apitest

import (
	"testing"

	"github.com/offsetledger/offsetledger/ledger"
)

// The moments of the night, for clocks in tests.
const (
	NightBegins = "2026-11-30T01:00:00Z"
	NightEnds   = "2026-11-30T03:12:40Z"
)

// Night writes the story of a night on which billing was set back: its last member leaves for
// a deploy, somebody rewinds its three partitions with an admin tool, and it reads again. One
// other group jumps, one expires, one does nothing but read. It returns the sequence of the
// rewind.
func Night(t testing.TB, to Appender) uint64 {
	s := Begin(t, to, NightBegins)
	s.Cursor()
	s.Topic("orders", 3)
	s.Topic("refunds", 1)
	s.Members("billing", 1, "billing-7f")
	s.Members("fraud", 1, "fraud-2")
	s.Members("billing-v2", 1, "v2")
	s.At("2026-11-30T01:58:00Z").Commit("fraud", "refunds", "fraud-2-id", 500)
	s.At("2026-11-30T01:58:20Z").Commit("fraud", "refunds", "fraud-2-id", 510)
	s.At("2026-11-30T01:58:30Z").Commit("fraud", "refunds", "fraud-2-id", 520)
	s.At("2026-11-30T01:58:44Z").Commit("fraud", "refunds", "fraud-2-id", 52830)
	s.At("2026-11-30T02:10:00Z").Commit("mailer-old", "orders", "", 40, 41)
	s.At("2026-11-30T02:11:00Z").Delete("mailer-old", "orders", 2, ledger.CauseExpired)
	s.At("2026-11-30T02:44:20Z").Commit("billing", "orders", "billing-7f-id", 701172, 700000, 699000)
	s.At("2026-11-30T02:44:30Z").Commit("billing-v2", "orders", "v2-id", 10, 10, 10)
	s.At("2026-11-30T02:44:50.912Z").Commit("billing", "orders", "billing-7f-id", 701204, 700032, 699032)
	s.At("2026-11-30T02:44:51.377Z").Members("billing", 2)
	s.At("2026-11-30T02:45:50Z").Watermarks("orders", 0, 701310, 700100, 699100)
	s.Watermarks("refunds", 0, 52880)
	rewind := s.At("2026-11-30T02:46:58.113Z").Commit("billing", "orders", "", 0, 0, 0)
	s.At("2026-11-30T02:47:20.020Z").Members("billing", 3, "billing-8a", "billing-8b")
	s.At("2026-11-30T02:50:00Z").Commit("billing", "orders", "billing-8a-id", 158630, 1000, 1000)
	s.At("2026-11-30T03:12:38Z").Watermarks("orders", 0, 701402, 700200, 699200)
	s.Cursor()
	return rewind
}

// OddNames are group ids that tools have stumbled over.
var OddNames = []string{
	"", ".", "..", "a/b", "a//b", "/lead", "x#y", "x?y", "a%b", "a%2Fb", "a+b", "a b", "é", "a\nb", "a\x00b", "\xff\xfe",
	"principal@x", "T`1[[A, B]]", "a/../b", `"quoted"`, "a&b=c", "-dash",
}

// Names writes one commit of each of [OddNames].
func Names(t testing.TB, to Appender) uint64 {
	s := Begin(t, to, NightBegins)
	s.Cursor()
	s.Topic("orders", 1)
	for i, name := range OddNames {
		s.Commit(name, "orders", "", int64(100+i))
	}
	s.At(NightEnds)
	return s.Cursor()
}
