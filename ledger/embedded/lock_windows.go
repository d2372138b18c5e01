package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errHeld: the lock belongs to somebody else.
var errHeld = errors.New("held")

// lock takes the lock on f for as long as f is open. It does not wait. The locked byte lies
// beyond the content, which others may then still read.
func lock(f *os.File) error {
	beyond := &windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, beyond)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// syncDir is not needed: NTFS journals a rename itself.
func syncDir(string) error { return nil }

// unlock gives the lock back.
func unlock(f *os.File) error {
	beyond := &windows.Overlapped{OffsetHigh: 1}
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, beyond)
}
