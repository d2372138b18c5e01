package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrDamaged says that a stored stream is incomplete, and that the server would start without it.
var ErrDamaged = errors.New("stored stream is damaged")

// The files without either of which the server passes a stream over when it starts. It writes
// them one after the other when a stream is made, and never the second one again.
var metaFiles = []string{"meta.inf", "meta.sum"}

// removeHalfMade removes the streams that a process was making when it died. The server would
// pass such a stream over, let one of its name be made on top of it, store events there, and
// pass those over as well when it starts next.
//
// A half-made stream never acknowledged anything, so it holds no events. One that holds some
// has been damaged in another way, and is refused with [ErrDamaged].
func removeHalfMade(dir string) (removed []string, err error) {
	streams, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*"))
	if err != nil {
		return nil, err
	}
	for _, stream := range streams {
		missing := missingMeta(stream)
		if missing == "" {
			continue
		}
		stored, err := bytesStored(stream)
		if err != nil {
			return removed, err
		}
		if stored > 0 {
			return removed, fmt.Errorf("%w: %s has %d bytes of events and no %s, without which the server would pass them over: "+
				"put that file back from a copy of the directory", ErrDamaged, stream, stored, missing)
		}
		if err := os.RemoveAll(stream); err != nil {
			return removed, err
		}
		removed = append(removed, stream)
	}
	return removed, nil
}

// missingMeta returns the first metadata file that is not there or empty, as a crash can leave
// it, and "" if all are there.
func missingMeta(stream string) string {
	for _, name := range metaFiles {
		info, err := os.Stat(filepath.Join(stream, name))
		if err != nil || info.Size() == 0 {
			return name
		}
	}
	return ""
}

// bytesStored is how much the blocks of a stream hold.
func bytesStored(stream string) (sum int64, err error) {
	blocks, err := filepath.Glob(filepath.Join(stream, "msgs", "*.blk"))
	if err != nil {
		return 0, err
	}
	for _, b := range blocks {
		info, err := os.Stat(b)
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}
