//go:build unix

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// errHeld: the lock belongs to somebody else.
var errHeld = errors.New("held")

// lock takes the lock on f for as long as f is open. It does not wait.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// unlock gives the lock back. Closing f would do that too, but not while another thread starts
// a process: until that runs its program, it has f open as well.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
