package kafkatest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// TruncatePartition cuts the log of a partition of a broker that is not running, so that its
// end is the offset to, as an unclean leader election does to records that only a lost leader
// had. The broker elects itself in a new leader epoch when it starts again, so a reader that
// resumes beyond the new end, and says with which epoch it read, is told of the loss. The
// offset must be the first of a batch.
func (r *Real) TruncatePartition(topic string, partition int32, to int64) error {
	if r.process == nil {
		return fmt.Errorf("truncate %s/%d: %w", topic, partition, errNotOurs)
	}
	if !r.stopped() {
		return fmt.Errorf("truncate %s/%d: the broker is running", topic, partition)
	}
	dir := filepath.Join(r.dataDir(), fmt.Sprintf("%s-%d", topic, partition))
	if err := cutSegments(dir, to); err != nil {
		return fmt.Errorf("truncate %s/%d to %d: %w", topic, partition, to, err)
	}
	// Without the mark of a clean shutdown the broker reads the log again and makes its
	// indexes anew. What it remembers beyond the cut must not outlive the records.
	err := errors.Join(
		removeIfThere(filepath.Join(r.dataDir(), ".kafka_cleanshutdown")),
		lowerCheckpoint(filepath.Join(r.dataDir(), "recovery-point-offset-checkpoint"), topic, partition, to),
		lowerCheckpoint(filepath.Join(r.dataDir(), "replication-offset-checkpoint"), topic, partition, to),
		cutEpochs(filepath.Join(dir, "leader-epoch-checkpoint"), to),
	)
	if err != nil {
		return fmt.Errorf("truncate %s/%d to %d: %w", topic, partition, to, err)
	}
	return nil
}

// cutSegments removes what lies at or beyond an offset from a log directory, and every index
// and producer snapshot, which the broker rebuilds.
func cutSegments(dir string, to int64) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		return errors.Join(fmt.Errorf("no log in %s", dir), err)
	}
	slices.Sort(logs)
	for i, log := range slices.Backward(logs) {
		base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(log), ".log"), 10, 64)
		if err != nil {
			return fmt.Errorf("segment %s: %w", log, err)
		}
		if base >= to && i > 0 {
			if err := os.Remove(log); err != nil {
				return fmt.Errorf("remove segment: %w", err)
			}
			continue
		}
		if err := cutSegment(log, to); err != nil {
			return err
		}
		break
	}
	for _, pattern := range []string{"*.index", "*.timeindex", "*.txnindex", "*.snapshot"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return fmt.Errorf("remove index: %w", err)
			}
		}
	}
	return nil
}

// cutSegment truncates one segment file before the batch that begins with the offset.
func cutSegment(log string, to int64) error {
	data, err := os.ReadFile(log)
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	// A batch: base offset int64, length int32 of what follows, 11 bytes, last offset delta int32.
	const headSize, deltaAt, minimum = 12, 23, 61
	for at := 0; at+minimum <= len(data); {
		base := int64(binary.BigEndian.Uint64(data[at:]))
		if base >= to {
			return os.Truncate(log, int64(at))
		}
		if last := base + int64(binary.BigEndian.Uint32(data[at+deltaAt:])); last >= to {
			return fmt.Errorf("the batch of offsets %d to %d cannot be cut", base, last)
		}
		at += headSize + int(binary.BigEndian.Uint32(data[at+8:]))
	}
	return fmt.Errorf("the log ends before offset %d", to)
}

// lowerCheckpoint lowers a partition's offset in a checkpoint file of the data directory:
// version, count, then "topic partition offset" by line.
func lowerCheckpoint(file, topic string, partition int32, to int64) error {
	return editLines(file, func(line string) (string, bool) {
		var t string
		var p int32
		var offset int64
		if n, _ := fmt.Sscan(line, &t, &p, &offset); n == 3 && t == topic && p == partition && offset > to {
			return fmt.Sprintf("%s %d %d", t, p, to), true
		}
		return line, true
	})
}

// cutEpochs removes the leader epochs that began at or beyond an offset: version, count, then
// "epoch offset" by line.
func cutEpochs(file string, to int64) error {
	return editLines(file, func(line string) (string, bool) {
		var epoch int32
		var start int64
		n, _ := fmt.Sscan(line, &epoch, &start)
		return line, n < 2 || start < to
	})
}

// editLines rewrites the entries of a checkpoint file, those that keep says yes to, and counts
// them anew. A file that is not there has none.
func editLines(file string, edit func(line string) (string, bool)) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	if len(data) == 0 { // a broker that was killed before it wrote any
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 2 {
		return fmt.Errorf("checkpoint %s has no head", file)
	}
	var kept []string
	for _, line := range lines[2:] {
		if line, keep := edit(line); keep {
			kept = append(kept, line)
		}
	}
	out := fmt.Sprintf("%s\n%d\n%s\n", lines[0], len(kept), strings.Join(kept, "\n"))
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	return nil
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
