package replay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// now of all tests here: a Monday night, on a clock one hour east of UTC.
var now = time.Date(2026, 11, 30, 4, 12, 40, 500e6, time.FixedZone("CET", 3600))

func at(s string) replay.Point {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return replay.Point{Time: ledger.AtTime(t)}
}

func TestParsePoint(t *testing.T) {
	for text, want := range map[string]replay.Point{
		"now":                           {},
		"seq:411":                       {Seq: 411},
		"before:412":                    {Seq: 411},
		"seq:18446744073709551615":      {Seq: 18446744073709551615},
		"checkpoint:before deploy: x":   {Checkpoint: "before deploy: x"},
		"appended:2026-11-30T02:46:00Z": {Appended: at("2026-11-30T02:46:00Z").Time},
		"appended:-10m":                 {Appended: at("2026-11-30T03:02:40.5Z").Time},

		"2026-11-30T02:46:00Z":           at("2026-11-30T02:46:00Z"),
		"2026-11-30t02:46:00z":           at("2026-11-30T02:46:00Z"),
		"2026-11-30 02:46:00Z":           at("2026-11-30T02:46:00Z"),
		"2026-11-30T02:46Z":              at("2026-11-30T02:46:00Z"),
		"2026-11-30T02:46:58.113Z":       at("2026-11-30T02:46:58.113Z"),
		"2026-11-30T02:46:58.113999999Z": at("2026-11-30T02:46:58.113Z"), // never later than what was asked
		"2026-11-30T02:46:00+01:00":      at("2026-11-30T01:46:00Z"),
		"2026-11-29T21:16:00-05:30":      at("2026-11-30T02:46:00Z"),
		"2024-02-29":                     at("2024-02-29T00:00:00Z"),
		"0000-01-01":                     at("0000-01-01T00:00:00Z"),
		"2026-11-30":                     at("2026-11-30T00:00:00Z"),

		"02:46Z":               at("2026-11-30T02:46:00Z"),
		"2:46Z":                at("2026-11-30T02:46:00Z"),
		"02:46:58.113Z":        at("2026-11-30T02:46:58.113Z"),
		"03:12:40.5Z":          at("2026-11-30T03:12:40.5Z"), // this very moment
		"03:13Z":               at("2026-11-29T03:13:00Z"),   // not yet today
		"02:46+01:00":          at("2026-11-30T01:46:00Z"),
		"23:30-05:00":          at("2026-11-29T04:30:00Z"), // the evening before, over there
		"-10m":                 at("2026-11-30T03:02:40.5Z"),
		"10m":                  at("2026-11-30T03:02:40.5Z"),
		"90s":                  at("2026-11-30T03:11:10.5Z"),
		"1.5h":                 at("2026-11-30T01:42:40.5Z"),
		"7d":                   at("2026-11-23T03:12:40.5Z"),
		"-7d":                  at("2026-11-23T03:12:40.5Z"),
		"1d12h30m":             at("2026-11-28T14:42:40.5Z"),
		"0s":                   at("2026-11-30T03:12:40.5Z"),
		"@-1h":                 at("2026-11-30T02:12:40.5Z"),
		"@2026-11-30":          at("2026-11-30T00:00:00Z"),
		"@999999999":           at("2001-09-09T01:46:39Z"),
		"@1764470760":          at("2025-11-30T02:46:00Z"),
		"@1764470760123":       at("2025-11-30T02:46:00.123Z"),
		"@1764470760123456789": at("2025-11-30T02:46:00.123Z"),
	} {
		got, err := replay.ParsePoint(text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParsePointRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                          `"": a time is missing`,
		"25:00":                     `"25:00": hour 25 is out of range, it goes from 0 to 23`,
		"25:00Z":                    `"25:00Z": hour 25 is out of range, it goes from 0 to 23`,
		"24:00Z":                    `"24:00Z": hour 24 is out of range, it goes from 0 to 23`,
		"02:60Z":                    `"02:60Z": minute 60 is out of range, it goes from 0 to 59`,
		"02:46:60Z":                 `"02:46:60Z": second 60 is out of range, it goes from 0 to 59`,
		"2026-13-01":                `"2026-13-01": month 13 is out of range, it goes from 1 to 12`,
		"2026-11-31T00:00:00Z":      `"2026-11-31T00:00:00Z": November 2026 has no day 31`,
		"2026-02-29":                `"2026-02-29": February 2026 has no day 29`,
		"2026-11-30T02:46:00+25:00": `"2026-11-30T02:46:00+25:00": hour of the zone 25 is out of range, it goes from 0 to 23`,
		"02:46": `"02:46": the zone is missing; write 02:46Z for UTC, ` +
			`or 02:46+01:00 for the time zone of this machine (01:46:00Z)`,
		"2026-11-30T02:46:00": `"2026-11-30T02:46:00": the zone is missing; write 2026-11-30T02:46:00Z for UTC, ` +
			`or 2026-11-30T02:46:00+01:00 for the time zone of this machine (01:46:00Z)`,
		"2026-11-30T03:12:40.501Z": `"2026-11-30T03:12:40.501Z": 2026-11-30T03:12:40Z lies in the future ` +
			`(it is 2026-11-30T03:12:40Z now); only the past can be read`,
		"2026-12-01":             `"2026-12-01": 2026-12-01T00:00:00Z lies in the future (it is 2026-11-30T03:12:40Z now); only the past can be read`,
		"+10m":                   `"+10m": 10m from now lies in the future; only the past can be read`,
		"@1764470":               `"@1764470": 7 digits are ambiguous; seconds have 9 or 10, milliseconds 13, nanoseconds 19`,
		"@17644707601":           `"@17644707601": 11 digits are ambiguous; seconds have 9 or 10, milliseconds 13, nanoseconds 19`,
		"@9999999999999999999":   `"@9999999999999999999": the number is too large for a time`,
		"411":                    `"411": a bare number could be a sequence or a time; write seq:411`,
		"seq:0":                  `"seq:0": sequences start at 1`,
		"before:1":               `"before:1": nothing was recorded before sequence 1`,
		"seq:x":                  `"seq:x": "x" is not a sequence; write a whole number, as in seq:411`,
		"seq:-1":                 `"seq:-1": "-1" is not a sequence; write a whole number, as in seq:411`,
		"checkpoint:":            `"checkpoint:": the name of the checkpoint is missing`,
		"appended:02:46":         `"appended:02:46": the zone is missing; write 02:46Z for UTC, or 02:46+01:00 for the time zone of this machine (01:46:00Z)`,
		"0000-01-01T00:00+14:00": `"0000-01-01T00:00+14:00": that is before the year 0`,
		"--10m":                  `"--10m": not a time; write one as 2026-11-30T02:46:00Z, 02:46Z, 2026-11-30, -10m, @1764470760, seq:411, before:412 or checkpoint:NAME`,
		"yesterday":              `"yesterday": not a time; write one as 2026-11-30T02:46:00Z, 02:46Z, 2026-11-30, -10m, @1764470760, seq:411, before:412 or checkpoint:NAME`,
		"2026-11-30T":            `"2026-11-30T": not a time; write one as 2026-11-30T02:46:00Z, 02:46Z, 2026-11-30, -10m, @1764470760, seq:411, before:412 or checkpoint:NAME`,
		"T02:46Z":                `"T02:46Z": not a time; write one as 2026-11-30T02:46:00Z, 02:46Z, 2026-11-30, -10m, @1764470760, seq:411, before:412 or checkpoint:NAME`,
	} {
		_, err := replay.ParsePoint(text, now)
		require.EqualError(t, err, want, text)
		var detail *replay.PointError
		require.ErrorAs(t, err, &detail)
		require.Equal(t, text, detail.Text)
	}
}

// On a clock that shows UTC there is only one reading of the machine to offer.
func TestParsePointWithoutZoneOnAUTCClock(t *testing.T) {
	_, err := replay.ParsePoint("02:46", now.UTC())
	require.EqualError(t, err,
		`"02:46": the zone is missing; write 02:46Z for UTC, or the offset of the clock you read, as in 02:46+02:00`)
}

func TestPointSaysWhatItNeeds(t *testing.T) {
	require.True(t, replay.Point{}.IsNow())
	require.False(t, replay.Point{Seq: 1}.IsNow())
	require.True(t, replay.Point{Seq: 1}.Resolved())
	require.False(t, replay.Point{Checkpoint: "a"}.Resolved())
	require.False(t, replay.Point{Appended: ledger.AtMillis(0)}.Resolved())
}

// Whatever is accepted lies in the past and can be spelled so that it is accepted again.
func FuzzParsePoint(f *testing.F) {
	for _, seed := range []string{
		"now", "seq:411", "before:2", "appended:7d", "checkpoint:a", "02:46Z", "02:46", "-10m", "1d2h",
		"@1764470760", "@1764470760123", "@1764470760123456789", "2026-11-30", "2026-11-30T02:46:00.5-05:30",
		"25:00", "106751d", "-106751d23h", "0000-01-01T00:00:00+14:00", "9999-12-31",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := replay.ParsePoint(text, now)
		if err != nil {
			require.Equal(t, replay.Point{}, p)
			return
		}
		require.False(t, p.Time.After(ledger.AtTime(now)))
		require.False(t, p.Appended.After(ledger.AtTime(now)))
		again, err := replay.ParsePoint(p.String(), now)
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

// The first moment of the year 1 is Go's zero time, which is no moment here: it is not now.
func TestYearOneIsNotNow(t *testing.T) {
	_, err := replay.ParsePoint("0001-01-01", time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	require.ErrorContains(t, err, "nothing was recorded so long ago")
}
