package replay

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// ParsePoint reads a point of the past as people write it:
//
//	now                           the present
//	2026-11-30T02:46:00Z          RFC 3339; a blank may stand for the T, seconds may be left out
//	2026-11-30                    00:00 UTC of that day
//	02:46Z  02:46:58.113+01:00    the latest such moment
//	-10m  10m  7d  1d12h          so long ago
//	@1764470760                   Unix time: 9 or 10 digits are seconds, 13 milliseconds, 19 nanoseconds
//	seq:411  before:412           the state after, or just before, that sequence
//	appended:T  checkpoint:NAME   places that only the log can find
//
// A time without a zone, a time that lies after now and a number of another length are
// refused. now also lends its zone to the message that spells out a time without one. The
// error is a [*PointError].
func ParsePoint(s string, now time.Time) (Point, error) {
	p, err := parsePoint(s, now)
	if err != nil {
		err.hint(pointExamples, now, readsPoint).Text = s
		return Point{}, err
	}
	return p, nil
}

func readsPoint(s string, now time.Time) *PointError {
	_, err := parsePoint(s, now)
	return err
}

func readsPast(s string, now time.Time) *PointError {
	_, err := parsePast(s, now)
	return err
}

func parsePoint(s string, now time.Time) (Point, *PointError) {
	if s == "now" {
		return Point{}, nil
	}
	word, rest, ok := cutWord(s)
	switch {
	case ok && word == "checkpoint":
		if rest == "" {
			return Point{}, pointError("the name of the checkpoint is missing")
		}
		return Point{Checkpoint: rest}, nil
	case ok && word == "appended":
		t, err := parsePast(rest, now)
		return Point{Appended: t}, err.hint(pointExamples, now, readsPast)
	case ok:
		return parseSeq(rest, word == "before")
	}
	t, err := parsePast(s, now)
	return Point{Time: t}, err
}

// parsePast reads a moment that is not after now.
func parsePast(s string, now time.Time) (ledger.Time, *PointError) {
	t, err := parseMoment(s, now)
	if err != nil {
		return ledger.Time{}, err
	}
	if t.After(now) {
		return ledger.Time{}, pointError("%s lies in the future (it is %s now); only the past can be read",
			t.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if t.UTC().Year() < 0 {
		return ledger.Time{}, pointError("that is before the year 0")
	}
	at := ledger.AtTime(t)
	if !at.Known() { // the one moment that Go's zero time stands for
		return ledger.Time{}, pointError("nothing was recorded so long ago")
	}
	return at, nil
}

func parseMoment(s string, now time.Time) (time.Time, *PointError) {
	switch {
	case s == "":
		return time.Time{}, pointError("a time is missing")
	case strings.HasPrefix(s, "@") && isDigits(s[1:]):
		return parseUnix(s[1:])
	case strings.HasPrefix(s, "@"):
		s = s[1:]
	}
	if t, ok, err := parseCalendar(s, now); ok {
		return t, err
	}
	if d, ok := parseAgo(s); ok {
		return now.Add(-d), nil
	}
	if isDigits(s) {
		return time.Time{}, &PointError{Reason: "a bare number could be a sequence or a time", open: true, meant: []string{"seq:" + s, "@" + s}}
	}
	if strings.HasPrefix(s, "+") {
		return time.Time{}, pointError("%s from now lies in the future; only the past can be read", s[1:])
	}
	return time.Time{}, &PointError{Reason: "not a time", open: true}
}

// parseUnix follows the rule that kcl has for @N: the number of digits says the unit.
func parseUnix(digits string) (time.Time, *PointError) {
	n, err := strconv.ParseInt(digits, 10, 64)
	switch l := len(digits); {
	case err != nil:
		return time.Time{}, pointError("the number is too large for a time")
	case l == 9 || l == 10:
		return time.Unix(n, 0), nil
	case l == 13:
		return time.UnixMilli(n), nil
	case l == 19:
		return time.Unix(0, n), nil
	}
	return time.Time{}, pointError("%d digits are ambiguous; seconds have 9 or 10, milliseconds 13, nanoseconds 19", len(digits))
}

// A date, a time of day, or both; what was written is judged afterwards, so that the message
// can say which part is wrong.
var calendar = regexp.MustCompile(
	`^(?:(\d{4})-(\d{1,2})-(\d{1,2}))?([Tt ])?(?:(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):(\d{2}))?)?$`)

// parseCalendar reads a date, a time of day or both. ok is false when s is neither.
func parseCalendar(s string, now time.Time) (t time.Time, ok bool, fault *PointError) {
	m := calendar.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false, nil
	}
	dated, timed := m[1] != "", m[5] != ""
	if (m[4] != "") != (dated && timed) {
		return time.Time{}, false, nil
	}
	if fault := outOfRange(m); fault != nil {
		return time.Time{}, true, fault
	}
	year, month, day := number(m[1]), time.Month(number(m[2])), number(m[3])
	if dated && time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Day() != day {
		return time.Time{}, true, pointError("%s %d has no day %d", month, year, day)
	}
	nanos := number((m[8] + "000000000")[:9])
	at := func(year int, month time.Month, day int, zone *time.Location) time.Time {
		return time.Date(year, month, day, number(m[5]), number(m[6]), number(m[7]), nanos, zone)
	}
	zone, zoned := zoneOf(m)
	switch {
	case dated && !timed:
		return at(year, month, day, time.UTC), true, nil
	case !zoned:
		if !dated {
			year, month, day = now.Date()
		}
		return time.Time{}, true, withoutZone(s, at(year, month, day, now.Location()))
	case dated:
		return at(year, month, day, zone), true, nil
	}
	year, month, day = now.In(zone).Date()
	if t = at(year, month, day, zone); t.After(now) {
		t = t.AddDate(0, 0, -1)
	}
	return t, true, nil
}

func outOfRange(m []string) *PointError {
	for _, part := range []struct {
		name, text  string
		least, most int
	}{
		{"month", m[2], 1, 12}, {"day", m[3], 1, 31},
		{"hour", m[5], 0, 23}, {"minute", m[6], 0, 59}, {"second", m[7], 0, 59},
		{"hour of the zone", m[11], 0, 23}, {"minute of the zone", m[12], 0, 59},
	} {
		if part.text == "" {
			continue
		}
		if n := number(part.text); n < part.least || n > part.most {
			return pointError("%s %d is out of range, it goes from %d to %d", part.name, n, part.least, part.most)
		}
	}
	return nil
}

func zoneOf(m []string) (*time.Location, bool) {
	if m[9] != "" {
		return time.UTC, true
	}
	if m[10] == "" {
		return nil, false
	}
	seconds := number(m[11])*3600 + number(m[12])*60
	if m[10] == "-" {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}

// withoutZone spells out what s could mean. local is s on the clock of this machine.
func withoutZone(s string, local time.Time) *PointError {
	offset := local.Format("-07:00")
	if offset == "+00:00" {
		return pointError("the zone is missing; write %sZ for UTC, or the offset of the clock you read, as in %s+02:00", s, s)
	}
	return pointError("the zone is missing; write %sZ for UTC, or %s%s for the time zone of this machine (%s)",
		s, s, offset, local.UTC().Format("15:04:05Z"))
}

// parseAgo reads a length of time as Go writes it, with days before it if need be, and with
// or without a minus sign. ok is false when s is none or does not fit a [time.Duration].
func parseAgo(s string) (time.Duration, bool) {
	s = strings.TrimPrefix(s, "-")
	var days time.Duration
	if head, rest, found := strings.Cut(s, "d"); found && isDigits(head) {
		n, err := strconv.ParseInt(head, 10, 64)
		if err != nil || n > math.MaxInt64/int64(48*time.Hour) {
			return 0, false
		}
		days, s = time.Duration(n)*24*time.Hour, rest
		if s == "" {
			return days, true
		}
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil || d > math.MaxInt64-days {
		return 0, false
	}
	return days + d, true
}

// number reads the few digits that the pattern let through; none is 0.
func number(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
