//go:build linux || darwin

package commands_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what this process, server included, has used of the processors. On a machine that
// others use too it is the steadier measure.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
