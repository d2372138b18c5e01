package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// The short ways of matcher answer as ledger.MatchSubject does.
func TestMatcherAgreesWithMatchSubject(t *testing.T) {
	pattern := rapid.StringMatching(`(ol|[ab*])(\.[ab*]){0,4}(\.>|>|\.)?`)
	subject := rapid.StringMatching(`(ol|[ab])(\.[ab]){0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		p, s := pattern.Draw(t, "pattern"), subject.Draw(t, "subject")
		require.Equal(t, ledger.MatchSubject(p, s), matcher(p)(s), "%s on %s", p, s)
	})
	for _, filter := range []string{">", "ol.prod.g.a.>", "ol.prod.g.a.committed", "ol.*.g.a.>", "ol.prod.g.a.committed.>", "ol.prod.g.a"} {
		require.Equal(t, ledger.MatchSubject(filter, "ol.prod.g.a.committed"), matcher(filter)("ol.prod.g.a.committed"), filter)
	}
}
