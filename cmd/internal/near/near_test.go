package near_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/near"
)

func TestNames(t *testing.T) {
	known := []string{"billing", "Billing-v2", "fraud", "mailer-old", "x"}
	for _, c := range []struct {
		typed string
		want  []string
	}{
		{"biling", []string{"billing"}},
		{"BILLING", []string{"billing", "Billing-v2"}},
		{"mailer", []string{"mailer-old"}},
		{"fruad", []string{"fraud"}},
		{"old", []string{"mailer-old"}}, // and not x, which is as far as old is long
		{"nothing-like-it", nil},
		{"y", nil}, // one letter for another is no typing mistake
		{"", nil},
	} {
		require.Equal(t, c.want, near.Names(c.typed, known), c.typed)
	}
	require.Len(t, near.Names("group", []string{"group1", "group2", "group3", "group4"}), 3)
}
