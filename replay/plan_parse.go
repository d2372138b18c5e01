package replay

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// ParseTarget reads where a reset is to move offsets, as people write it:
//
//	earliest latest current       the log start, the log end, where it is
//	700 +50 -50                   that offset; so many forward or back from where it is
//	@2026-11-30T02:46:00Z @-1h    the first record written at or after that time
//	commit-time:T                 what was committed at that time
//	seq:N before:N …              what was committed at a place of the ledger, see [ParsePoint]
//	group:OTHER group:OTHER@P     what another group has, or had at a point
//
// Times are as in [ParsePlanTime]. A time without a word before it is refused, since it could be
// the time of records or of commits. A target file:F is none: whoever reads the file makes it
// with [ParseKafkaCSV]. The error is a [*PointError].
func ParseTarget(s string, now time.Time, zone *time.Location) (Target, error) {
	t, err := parseTarget(s, now, zone)
	if err != nil {
		err.hint(targetExamples, now, func(s string, now time.Time) *PointError { _, err := parseTarget(s, now, zone); return err }).Text = s
		return Target{}, err
	}
	t.Text = t.String()
	return t, nil
}

func parseTarget(s string, now time.Time, zone *time.Location) (Target, *PointError) {
	switch s {
	case "earliest":
		return Target{Kind: TargetEarliest}, nil
	case "latest":
		return Target{Kind: TargetLatest}, nil
	case "current":
		return Target{Kind: TargetCurrent}, nil
	case "":
		return Target{}, pointError("a target is missing")
	case "start", "beginning", "oldest":
		return Target{}, pointError("it is called earliest")
	case "end", "newest", "now":
		return Target{}, pointError("it is called latest")
	}
	if text, ok := strings.CutPrefix(s, "commit-time:"); ok {
		at, err := parsePlanTime(text, now, zone)
		return Target{Kind: TargetPoint, Point: Point{Time: at}}, err.hint(pointExamples, now, readsPlanTime(zone))
	}
	if strings.HasPrefix(s, "file:") {
		return Target{}, pointError("a file is read where it lies: the target is its rows")
	}
	if text, ok := strings.CutPrefix(s, "group:"); ok {
		return parseGroupTarget(text, now, zone)
	}
	if _, _, ok := cutWord(s); ok {
		p, err := parsePoint(s, now)
		return Target{Kind: TargetPoint, Point: p}, err
	}
	if text, ok := strings.CutPrefix(s, "@"); ok {
		return parseRecordTime(text, now, zone)
	}
	return parseNumberTarget(s, now, zone)
}

func parseRecordTime(text string, now time.Time, zone *time.Location) (Target, *PointError) {
	if isDigits(text) {
		text = "@" + text
	}
	at, err := parsePlanTime(text, now, zone)
	return Target{Kind: TargetRecord, Time: at}, err.hint(pointExamples, now, readsPlanTime(zone))
}

// parseGroupTarget reads OTHER or OTHER@P. A name may hold an @: the last one that a point
// follows counts.
func parseGroupTarget(text string, now time.Time, zone *time.Location) (Target, *PointError) {
	if text == "" {
		return Target{}, pointError("the name of the group is missing")
	}
	name, point := text, Point{}
	if i := strings.LastIndex(text, "@"); i > 0 {
		p, err := ParsePlanPoint(text[i+1:], now, zone)
		if err != nil {
			return Target{}, pointError("%s after the last @ is no point of the history (%v); a name that holds an @ needs one at its end, as in group:%s@now",
				text[i+1:], err, text)
		}
		name, point = text[:i], p
	}
	raw, err := ledger.ParseSpelled(name)
	if err != nil {
		return Target{}, pointError("%v", err)
	}
	return Target{Kind: TargetGroup, Group: raw, Point: point}, nil
}

func parseNumberTarget(s string, now time.Time, zone *time.Location) (Target, *PointError) {
	digits, kind := s, TargetOffset
	if s[0] == '+' || s[0] == '-' {
		digits, kind = s[1:], TargetShift
	}
	if !isDigits(digits) {
		if at, err := parsePlanTime(s, now, zone); err == nil {
			return Target{}, pointError("it could be the time of records or of commits: write @%s for the first record from then on, "+
				"or commit-time:%s for what was committed then", at, at)
		}
		return Target{}, &PointError{Reason: "not a target", open: true}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return Target{}, pointError("the number is too large for an offset")
	}
	if s[0] == '-' {
		n = -n
	}
	return Target{Kind: kind, N: n}, nil
}

// String spells the target with all its times as moments, so that it is read the same at any
// time.
func (t *Target) String() string {
	switch t.Kind {
	case TargetEarliest:
		return "earliest"
	case TargetLatest:
		return "latest"
	case TargetCurrent:
		return "current"
	case TargetOffset:
		return strconv.FormatInt(t.N, 10)
	case TargetShift:
		return fmt.Sprintf("%+d", t.N)
	case TargetRecord:
		return "@" + t.Time.String()
	case TargetRows:
		return "file"
	case TargetGroup:
		if t.Point.IsNow() && !strings.Contains(t.Group, "@") {
			return "group:" + ledger.Spell(t.Group)
		}
		return "group:" + ledger.Spell(t.Group) + "@" + t.Point.String()
	}
	if t.Point.Time.Known() {
		return "commit-time:" + t.Point.Time.String()
	}
	return t.Point.String()
}

// ParsePlanPoint reads a point of the history for a plan: as [ParsePoint], but a time has to say
// its date and zone, as in [ParsePlanTime].
func ParsePlanPoint(s string, now time.Time, zone *time.Location) (Point, error) {
	_, _, place := cutWord(s)
	if s == "now" || place {
		return ParsePoint(s, now)
	}
	at, err := parsePlanTime(s, now, zone)
	if err != nil {
		err.hint(pointExamples, now, func(s string, now time.Time) *PointError {
			if _, _, place := cutWord(s); place {
				return readsPoint(s, now)
			}
			return readsPlanTime(zone)(s, now)
		}).Text = s
		return Point{}, err
	}
	return Point{Time: at}, nil
}

// ParsePlanTime reads a time for a plan, where a wrong reading moves offsets: a full date with a
// time and a zone, or without a zone if zone says which one is meant; a length of time ago, as
// -10m, 7d, P7D or PT1H30M; or @N. What lies in the future is refused, and so is a local time
// that a change of the clocks skips or doubles.
func ParsePlanTime(s string, now time.Time, zone *time.Location) (ledger.Time, error) {
	t, err := parsePlanTime(s, now, zone)
	if err != nil {
		err.hint(pointExamples, now, readsPlanTime(zone)).Text = s
		return ledger.Time{}, err
	}
	return t, nil
}

func readsPlanTime(zone *time.Location) func(string, time.Time) *PointError {
	return func(s string, now time.Time) *PointError {
		_, err := parsePlanTime(s, now, zone)
		return err
	}
}

func parsePlanTime(s string, now time.Time, zone *time.Location) (ledger.Time, *PointError) {
	m := calendar.FindStringSubmatch(s)
	switch {
	case s == "":
		return ledger.Time{}, pointError("a time is missing")
	case m == nil:
		if d, ok, err := parseISO(s); ok {
			if err != nil {
				return ledger.Time{}, err
			}
			return ledger.AtTime(now.Add(-d)), nil
		}
		return parsePast(s, now)
	case m[1] == "":
		day := func(now time.Time) string { return now.UTC().Format(time.DateOnly) + "T" + strings.TrimLeft(s, "Tt ") }
		return ledger.Time{}, inFull("the date", now, zone, m, day(now), day(now.AddDate(0, 0, -1)))
	case m[5] == "":
		return ledger.Time{}, inFull("the time of day", now, zone, m, strings.TrimRight(s, "Tt ")+"T00:00:00")
	case m[9] == "" && m[10] == "" && zone != nil:
		if fault := outOfRange(m); fault != nil {
			return ledger.Time{}, fault
		}
		return inZone(m, s, now, zone)
	}
	return parsePast(s, now)
}

// inFull says that a part of a time is missing, with the first of some spellings that has all of
// it and is read. If none is, it is said why.
func inFull(missing string, now time.Time, zone *time.Location, m []string, spellings ...string) (err *PointError) {
	for _, full := range spellings {
		if zone == nil && m[9] == "" && m[10] == "" {
			full += "Z"
		}
		if _, err = parsePlanTime(full, now, zone); err == nil {
			return pointError("%s is missing; a plan needs it in full, as in %s", missing, full)
		}
	}
	return err
}

// inZone reads a local time. A change of the clocks skips some, and has others twice.
func inZone(m []string, s string, now time.Time, zone *time.Location) (ledger.Time, *PointError) {
	wall := func(z *time.Location) time.Time {
		return time.Date(number(m[1]), time.Month(number(m[2])), number(m[3]), number(m[5]), number(m[6]), number(m[7]), number((m[8] + "000000000")[:9]), z)
	}
	utc := wall(time.UTC)
	if utc.Day() != number(m[3]) {
		return ledger.Time{}, pointError("%s %d has no day %d", time.Month(number(m[2])), number(m[1]), number(m[3]))
	}
	var found []time.Time
	for _, near := range []time.Duration{-26 * time.Hour, 26 * time.Hour} {
		_, offset := utc.Add(near).In(zone).Zone()
		t := utc.Add(-time.Duration(offset) * time.Second)
		_, is := t.In(zone).Zone()
		if is == offset && (len(found) == 0 || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return ledger.Time{}, pointError("the clocks of %s skip that time: write the moment that is meant with its offset from UTC", zone)
	case 2:
		return ledger.Time{}, pointError("the clocks of %s show that time twice: write %s or %s", zone,
			found[0].In(zone).Format(time.RFC3339), found[1].In(zone).Format(time.RFC3339))
	}
	if found[0].After(now) {
		return ledger.Time{}, pointError("%s lies in the future (it is %s now); only the past can be read",
			found[0].UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return ledger.AtTime(found[0]), nil
}

// A duration of ISO 8601 as the stock tool takes it: days, hours, minutes, seconds.
var isoDuration = regexp.MustCompile(`^-?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?$`)

// parseISO reads a length of time. ok is false for what does not begin like one.
func parseISO(s string) (d time.Duration, ok bool, fault *PointError) {
	if !strings.HasPrefix(strings.TrimPrefix(s, "-"), "P") {
		return 0, false, nil
	}
	m := isoDuration.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return 0, true, pointError("not a length of time; write days, hours, minutes and seconds, as in P7D or PT1H30M: months and years have no fixed length")
	}
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil || n > (math.MaxInt64-int64(d))/int64(unit) {
			return 0, true, pointError("the length of time is too large")
		}
		d += time.Duration(n) * unit
	}
	return d, true, nil
}
