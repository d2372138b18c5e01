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

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
