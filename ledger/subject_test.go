package ledger

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var tokens = map[string]string{
	"":                         "=0",
	"orders-service":           "orders-service",
	"A_Z-09":                   "A_Z-09",
	"commerce.orders.v1":       "commerce/orders/v1",
	".x":                       "/x",
	"x.":                       "x/",
	"a..b":                     "a//b",
	"we ird.*>":                "we=20ird/=2A=3E",
	"über":                     "=C3=BCber",
	"$SYS":                     "=24SYS",
	"=":                        "=3D",
	"/":                        "=2F",
	"=0":                       "=3D0",
	"a/b":                      "a=2Fb",
	"\x00\t\n\xff":             "=00=09=0A=FF",
	"|fetch-all-group-topics|": "=7Cfetch-all-group-topics=7C",
}

func TestToken(t *testing.T) {
	for name, token := range tokens {
		require.Equal(t, token, Token(name))
		back, err := ParseToken(token)
		require.NoError(t, err)
		require.Equal(t, name, back)
	}
}

// A long name is cut, but never inside an escape, and two long names stay two.
func TestTokenOfLongNames(t *testing.T) {
	require.Equal(t, strings.Repeat("a", 255), Token(strings.Repeat("a", 255)), "255 bytes are not long")
	long := Token(strings.Repeat("a", 256))
	require.Equal(t, strings.Repeat("a", 200)+"=~", long[:202])
	require.Len(t, long, 200+2+26)

	escapes := Token("a" + strings.Repeat("\xff", 32766))
	require.True(t, strings.HasPrefix(escapes, "a"+strings.Repeat("=FF", 66)+"=~"), escapes)
	require.NotEqual(t, escapes, Token("a"+strings.Repeat("\xff", 32765)))
	require.Equal(t, escapes, Token("a"+strings.Repeat("\xff", 32766)))

	_, err := ParseToken(long)
	require.ErrorContains(t, err, "read it from the event")
}

// Only the canonical spelling is a token, so that nobody can write a second subject for a name.
func TestParseTokenRefusesOtherSpellings(t *testing.T) {
	for _, token := range []string{
		"", "=", "=2", "a=4", "=41", "=2e", "=2E", "=2f", "=zz", "=+1", "a.b", "a b", "*", ">", "ü", "=00=0", "=0=0",
		strings.Repeat("a", 256), "=~", "a=~b",
	} {
		_, err := ParseToken(token)
		require.Error(t, err, token)
	}
}

var anyLongName = rapid.OneOf(
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }),
	rapid.StringMatching(`[a-z./=~ ]{0,12}`))

func TestTokensAreOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyLongName.Draw(t, "a"), anyLongName.Draw(t, "b")
		require.Equal(t, a == b, Token(a) == Token(b))
		require.Regexp(t, `^[A-Za-z0-9_/=~-]{1,255}$`, Token(a))
		if back, err := ParseToken(Token(a)); err == nil {
			require.Equal(t, a, back)
		} else {
			require.Contains(t, Token(a), "=~")
		}
	})
}

func FuzzToken(f *testing.F) {
	for name, token := range tokens {
		f.Add(name)
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if back, err := ParseToken(Token(s)); err == nil {
			require.Equal(t, s, back)
		} else {
			require.Contains(t, Token(s), "=~")
		}
		if name, err := ParseToken(s); err == nil {
			require.Equal(t, s, Token(name))
		}
	})
}

// Spaces became reply subjects, newlines broke the connection, dots added levels, wildcards
// were taken literally in one place and as patterns in another, and the empty name had no
// subject at all. Here every name makes one token that NATS takes, and distinct names
// distinct subjects of the same depth.
func TestNAT02NamesInSubjects(t *testing.T) {
	seen := map[string]string{}
	for _, group := range []string{"a b", "tab\t", "line\n", "", "a..b", "a.b", "*", ">", "é", "x%y", "a", "a.b.c", "b.c"} {
		subject := GroupSubject("prod", group, KindCommitted)
		require.Regexp(t, `^ol\.prod\.g\.[A-Za-z0-9_/=-]+\.committed$`, subject)
		require.Empty(t, seen[subject], "%q and %q", seen[subject], group)
		seen[subject] = group
		back, err := ParseToken(strings.Split(subject, ".")[3])
		require.NoError(t, err)
		require.Equal(t, group, back)
		require.True(t, MatchSubject(GroupSubjects("prod", group), subject))
	}
	// The cluster a.b with the group c is not the cluster a with the group b.c.
	require.NotEqual(t, GroupSubject("a.b", "c", KindReset), GroupSubject("a", "b.c", KindReset))
	require.False(t, MatchSubject(GroupSubjects("prod", "a"), GroupSubject("prod", "a.b", KindReset)))
	require.False(t, MatchSubject(GroupSubjects("prod", "*"), GroupSubject("prod", "a", KindReset)))
}

// Old clients may commit for the group with the empty id. It is a group like any other, with a
// subject of its own.
func TestCAP12EmptyGroupID(t *testing.T) {
	e := golden(KindCommitted, "")
	e.Offsets = []Offset{{Topic: "t1", Partition: 3, At: 7, Effective: goldenTime}}
	require.NoError(t, e.Validate())
	require.Equal(t, "ol.prod.g.=0.committed", e.Subject())
	require.NotEqual(t, e.Subject(), GroupSubject("prod", "=0", KindCommitted))
	back, err := Decode(encoded(t, e))
	require.NoError(t, err)
	require.Equal(t, e.Subject(), back.Subject())
}

// Each kind is stored where docs/format.md says.
func TestSubjects(t *testing.T) {
	want := map[string]string{
		"updated": "ol.prod.g.billing.updated", "committed": "ol.prod.g.billing.committed", "reset": "ol.prod.g.billing.reset",
		"deleted": "ol.prod.g.=0.deleted", "failed": "ol.prod.g.billing.failed", "intent": "ol.prod.g.billing.intent",
		"claim": "ol.prod.g.billing.claim", "checkpoint": "ol.prod.g.billing.checkpoint", "group": "ol.prod.g.billing.group",
		"topic": "ol.prod.t.orders.topic", "watermarks": "ol.prod.w.12", "watermarks-many": "ol.prod.w.12",
		"watermarks-unanswered": "ol.prod.w.12", "cursor": "ol.prod.c.0", "cursor-hole": "ol.prod.c.0", "gap": "ol.prod.s.17.gap",
		"gap-of-group": "ol.prod.g.billing.gap", "opaque": "ol.prod.s.17.opaque", "operator": "ol.prod.o.operator",
		"snapshot": "ol.prod.o.snapshot", "newer": "ol.prod.g.billing.kind-99", "part": "ol.prod.g.billing.committed",
	}
	got := map[string]string{}
	for name, e := range goldenEvents() {
		got[name] = e.Subject()
		require.True(t, MatchSubject(ClusterSubjects("prod"), e.Subject()))
		require.Equal(t, e.Kind == KindTopic, MatchSubject(TopicSubjects("prod"), e.Subject()))
		require.Equal(t, e.Kind == KindTopic, MatchSubject(OneTopicSubjects("prod", e.Topic), e.Subject()))
		require.Equal(t, e.Kind == KindWatermarks, MatchSubject(WatermarkSubjects("prod"), e.Subject()))
		require.Equal(t, e.Kind == KindCursor, MatchSubject(CursorSubjects("prod"), e.Subject()))
		require.Equal(t, strings.HasPrefix(want[name], "ol.prod.s."), MatchSubject(SourceSubjects("prod"), e.Subject()))
		inGroup := strings.HasPrefix(want[name], "ol.prod.g.")
		require.Equal(t, inGroup, MatchSubject(AllGroupSubjects("prod"), e.Subject()))
		require.Equal(t, inGroup && name != "newer", e.OfGroup(), "of a kind that is not known nobody can say")
	}
	require.Equal(t, want, got)
}

// The shard of a topic's watermarks is part of the format: it must be the same everywhere.
func TestWatermarkShard(t *testing.T) {
	// FNV-1a 64 of "" is its offset basis, cbf29ce484222325.
	require.Equal(t, int32(0x5), WatermarkShard(""))
	// FNV-1a 64 of "a" is af63dc4c8601ec8c.
	require.Equal(t, int32(0xc), WatermarkShard("a"))
	// FNV-1a 64 of "foobar" is 85944171f73967e8.
	require.Equal(t, int32(0x8), WatermarkShard("foobar"))
}

func TestMatchSubject(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{">", "ol.prod.c.0", true},
		{"ol.prod.g.billing.>", "ol.prod.g.billing.committed", true},
		{"ol.prod.g.billing.>", "ol.prod.g.billing", false},
		{"ol.prod.g.billing.>", "ol.prod.g.billing2.committed", false},
		{"ol.*.g.*.committed", "ol.prod.g.billing.committed", true},
		{"ol.*.g.*.committed", "ol.prod.g.billing.reset", false},
		{"ol.*.g.*", "ol.prod.g.billing.reset", false},
		{"ol.*.g.*.*.*", "ol.prod.g.billing.reset", false},
		{"ol.prod.c.0", "ol.prod.c.0", true},
		{"ol.prod.c.0", "ol.prod.c.01", false},
	} {
		require.Equal(t, c.want, MatchSubject(c.pattern, c.subject), "%s ~ %s", c.pattern, c.subject)
	}
}
