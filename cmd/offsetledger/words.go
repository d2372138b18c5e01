package main

import (
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
)

// cell spells a name for a table, where an empty one has to be seen.
func cell(t api.Text) string { return api.Shown(string(t)) }

// clusterName spells the cluster of an answer; a ledger that holds nothing yet knows none.
func clusterName(name string) string {
	if name == "" {
		return "-"
	}
	return api.Spell(name)
}

func cellOf(t *api.Text) string {
	if t == nil {
		return ""
	}
	return cell(*t)
}

func number[N int32 | int64](n *N) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

func signed(n int64) string {
	if n > 0 {
		return "+" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// clock shows t: to people as a time of day in layout if it was today, with the date otherwise.
// Programs get one shape whatever the day, RFC 3339 with milliseconds, of every moment that the
// calendar has.
func (a *app) clock(t api.Time, layout string) string {
	if a.output == outAWK && t.Known() {
		return t.String()
	}
	return t.Clock(a.now(), layout)
}

// Layouts of a time of day.
const (
	seconds = "15:04:05Z"
	millis  = "15:04:05.000Z"
)

// instant shows a moment as it can be typed, without milliseconds if there are none.
func instant(t api.Time) string {
	return strings.Replace(t.String(), ".000Z", "Z", 1)
}

// whoWords says who did something.
func whoWords(w *api.Who) string {
	switch w.Kind {
	case "member", "manager":
		return doerWords(w)
	case "no-member":
		return "no member" + epochWords(w) + inferred(w.Inferred)
	case "members-present":
		return "some member" + inferred(w.Inferred)
	case "operator", "broker":
		return w.Kind + inferred(w.Inferred)
	}
	return "unknown"
}

// doerWords names a member or an offset manager, of which all that is known is the id of its
// process: that does not say by itself what it is.
func doerWords(w *api.Who) string {
	name := string(w.ClientID)
	if name == "" {
		name = string(w.MemberID)
	}
	words := strings.TrimSpace(api.Spell(name) + " " + api.Spell(strings.TrimPrefix(string(w.Host), "/")))
	if name == "" || w.Kind == "manager" {
		return strings.TrimSpace(w.Kind + " " + words)
	}
	return words
}

// epochWords adds what an admin tool gives itself away by.
func epochWords(w *api.Who) string {
	if w.Bare {
		return ", epoch -1"
	}
	return ""
}

func inferred(is bool) string {
	if is {
		return " (inferred)"
	}
	return ""
}

// why is the reason that was given, else the cause as far as it is known.
func why(reason *api.Text, cause *string, isInferred bool) string {
	switch {
	case reason != nil:
		return reason.String()
	case cause != nil:
		return api.CauseWords(*cause) + inferred(isInferred)
	}
	return ""
}

// withMend is what is wrong, and what mends it where that is known.
func withMend(detail, mend string) string {
	if mend == "" {
		return detail
	}
	return detail + "; mend: " + mend
}

func count(n int, what string) string { return ledger.Count(n, what) }
