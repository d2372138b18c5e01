package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrLocked says that another process holds the data directory. The detail is [*LockedError].
var ErrLocked = errors.New("data directory is in use")

// ErrLayout says that the data directory holds something that this version cannot work with.
var ErrLayout = errors.New("not a data directory of this version")

// LockedError says who holds a data directory.
type LockedError struct {
	Dir string
	PID int // of the holder; 0 when it could not be read
}

func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop it, or ask it instead", e.Dir, holder)
}

// Is makes the error match [ErrLocked].
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// The files of ours in a data directory, beside the server's own "jetstream".
const (
	lockFile   = "lock"        // holds the pid of the process that has it locked
	layoutFile = "layout.json" // says what the directory is
	layoutTemp = "layout.tmp"  // layoutFile being written; a crash can leave it behind
)

// layoutVersion is the version of the directory's layout that this package writes and reads.
const layoutVersion = 1

type layout struct {
	Product string `json:"product"`
	Version int    `json:"version"`
}

// dirLock is the hold on a data directory. The file stays when it is released: what locks is
// the operating system's lock on it, which ends with the process however that ends, and never
// the file's mere presence.
type dirLock struct {
	file *os.File
}

// lockDir makes dir if need be and locks it for this process.
func lockDir(dir string) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockFile)
	// Looked at before the lock file is made: a directory of somebody else stays untouched.
	if !exists(path) && !exists(filepath.Join(dir, layoutFile)) {
		if err := checkEmpty(dir); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		pid := readPID(f)
		f.Close()
		if errors.Is(err, errHeld) {
			return nil, &LockedError{Dir: dir, PID: pid}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	l := &dirLock{f}
	if err := l.writePID(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (l *dirLock) writePID() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func (l *dirLock) release() error { return errors.Join(unlock(l.file), l.file.Close()) }

func readPID(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// checkLayout makes an empty directory one of ours and refuses one that is not. The caller
// holds the lock.
func checkLayout(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, layoutFile))
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkEmpty(dir); err != nil {
			return err
		}
		return writeLayout(dir)
	}
	if err != nil {
		return err
	}
	var l layout
	if err := json.Unmarshal(b, &l); err != nil || l.Product != "offsetledger" {
		return fmt.Errorf("%w: %s does not say what %s is: choose another directory, or restore that file from a copy", ErrLayout, layoutFile, dir)
	}
	switch {
	case l.Version > layoutVersion:
		return fmt.Errorf("%w: %s has layout %d and this program knows up to %d: use the newer program that made it", ErrLayout, dir, l.Version, layoutVersion)
	case l.Version < layoutVersion:
		return fmt.Errorf("%w: %s has layout %d, which no program ever wrote: choose another directory", ErrLayout, dir, l.Version)
	}
	return nil
}

// checkEmpty refuses a directory that holds anything but what a crash of ours, or the making
// of a file system, leaves in a new one.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case lockFile, layoutTemp, "lost+found":
		default:
			return fmt.Errorf("%w: %s holds %s and no %s: choose an empty directory", ErrLayout, dir, e.Name(), layoutFile)
		}
	}
	return nil
}

// writeLayout makes dir a data directory of ours.
func writeLayout(dir string) error {
	b, err := json.Marshal(layout{Product: "offsetledger", Version: layoutVersion})
	if err != nil {
		return err
	}
	return writeAs(filepath.Join(dir, layoutTemp), filepath.Join(dir, layoutFile), append(b, '\n'))
}

// writeWhole writes a file for its owner only, so that a crash leaves all of it or none.
func writeWhole(path string, b []byte) error { return writeAs(path+".tmp", path, b) }

func writeAs(temp, path string, b []byte) error {
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
