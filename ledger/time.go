package ledger

import (
	"math"
	"strconv"
	"time"
)

// Time is a moment in milliseconds since the Unix epoch, as Kafka counts. The zero Time is
// unknown.
//
// It is not a [time.Time] because Kafka stores whatever number a client sent: a commit time
// far outside the calendar has to survive unchanged, and one row must stay small.
type Time struct {
	// biased is the milliseconds with the sign bit flipped, so that the zero value (the one
	// number of milliseconds that no clock shows, the smallest int64) means unknown.
	biased uint64
}

const signBit = 1 << 63

// AtMillis returns the moment ms milliseconds after the Unix epoch. [math.MinInt64] is the
// unknown Time.
func AtMillis(ms int64) Time { return Time{uint64(ms) ^ signBit} }

// AtTime returns t in milliseconds, rounded down. The zero [time.Time] is unknown.
func AtTime(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return AtMillis(t.UnixMilli())
}

// Known reports whether t is a moment at all.
func (t Time) Known() bool { return t != Time{} }

// Millis returns t in milliseconds since the Unix epoch, and false when t is unknown.
func (t Time) Millis() (int64, bool) { return int64(t.biased ^ signBit), t.Known() }

// Std returns t as a UTC [time.Time]. It is false when t is unknown or lies outside the
// years 0 to 9999, which neither RFC 3339 nor JSON can spell; [Time.String] still shows it.
func (t Time) Std() (time.Time, bool) {
	ms, ok := t.Millis()
	if !ok || ms < minCalendar || ms > maxCalendar {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// Milliseconds of 0000-01-01T00:00:00Z and 9999-12-31T23:59:59.999Z.
const (
	minCalendar = -62167219200000
	maxCalendar = 253402300799999
)

// Before reports whether t is earlier than u. An unknown Time is before every known one.
func (t Time) Before(u Time) bool { return t.biased < u.biased }

// After reports whether t is later than u.
func (t Time) After(u Time) bool { return t.biased > u.biased }

// Add returns t moved by d, rounded down to milliseconds. Unknown stays unknown, and the
// result stops at the largest and smallest moment instead of wrapping.
func (t Time) Add(d time.Duration) Time {
	ms, ok := t.Millis()
	if !ok {
		return t
	}
	by := d.Milliseconds()
	if d < time.Duration(by)*time.Millisecond {
		by--
	}
	switch {
	case by > 0 && ms > math.MaxInt64-by:
		return AtMillis(math.MaxInt64)
	case by < 0 && ms < math.MinInt64+1-by:
		return AtMillis(math.MinInt64 + 1)
	}
	return AtMillis(ms + by)
}

// Sub returns the time from u to t, exact to the millisecond. It is false when either is unknown; a difference that a
// [time.Duration] cannot hold is the largest or smallest duration.
func (t Time) Sub(u Time) (time.Duration, bool) {
	a, aok := t.Millis()
	b, bok := u.Millis()
	if !aok || !bok {
		return 0, false
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	diff := a - b
	overflowed := (a >= b) != (diff >= 0)
	switch {
	case a >= b && (overflowed || diff > most):
		return math.MaxInt64, true
	case a < b && (overflowed || diff < -most):
		return math.MinInt64, true
	}
	return time.Duration(diff) * time.Millisecond, true
}

// String is RFC 3339 in UTC with milliseconds, the bare number of milliseconds followed by
// "ms" for a moment outside the calendar, or "-" when unknown.
func (t Time) String() string {
	if !t.Known() {
		return "-"
	}
	if std, ok := t.Std(); ok {
		return std.Format("2006-01-02T15:04:05.000Z07:00")
	}
	ms, _ := t.Millis()
	return strconv.FormatInt(ms, 10) + "ms"
}

// MaxTime returns the later of two moments; a known one wins over an unknown one.
func MaxTime(t, u Time) Time {
	if t.Before(u) {
		return u
	}
	return t
}

// MinTime returns the earliest of the moments that are known, or the unknown Time when none is.
func MinTime(times ...Time) Time {
	var least Time
	for _, t := range times {
		if t.Known() && (!least.Known() || t.Before(least)) {
			least = t
		}
	}
	return least
}

// Epoch is a leader epoch. The zero Epoch is unknown; epoch 0 is a real one. Kafka writes
// the unknown epoch as -1.
type Epoch struct {
	plusOne int32
}

// EpochOf returns the epoch that Kafka writes as n; -1 is the unknown epoch.
func EpochOf(n int32) Epoch { return Epoch{n + 1} }

// Known reports whether e is an epoch at all.
func (e Epoch) Known() bool { return e.plusOne != 0 }

// Get returns the epoch, and false when it is unknown.
func (e Epoch) Get() (int32, bool) { return e.plusOne - 1, e.plusOne != 0 }

// Kafka returns the epoch as the Kafka protocol spells it, where -1 is unknown.
func (e Epoch) Kafka() int32 { return e.plusOne - 1 }

// String is the number, or "-" when unknown.
func (e Epoch) String() string {
	n, ok := e.Get()
	if !ok {
		return "-"
	}
	return strconv.FormatInt(int64(n), 10)
}
