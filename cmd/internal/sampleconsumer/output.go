package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// output is what the consumer makes of records: for every partition a file in which the record at
// offset n has line n. Written twice it is the same line, by whichever process.
type output struct {
	dir   string
	mu    sync.Mutex
	files map[string]*os.File
}

// write writes the line of a record: its offset and the checksum of its value.
func (o *output) write(r *kgo.Record) error {
	f, err := o.file(fmt.Sprintf("%s-%d.out", r.Topic, r.Partition), 0)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%019d %08x\n", r.Offset, crc32.ChecksumIEEE(r.Value))
	_, err = f.WriteAt([]byte(line), r.Offset*int64(len(line)))
	return err
}

// journal notes what came before it is worked on, in a file of this process: time in
// microseconds, partition, first and last offset.
func (o *output) journal(fetches kgo.Fetches) error {
	var lines bytes.Buffer
	now := time.Now().UnixMicro()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if n := len(p.Records); n > 0 {
			fmt.Fprintln(&lines, now, p.Partition, p.Records[0].Offset, p.Records[n-1].Offset)
		}
	})
	f, err := o.file(fmt.Sprintf("%d.journal", os.Getpid()), os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(lines.Bytes())
	return err
}

func (o *output) file(name string, flags int) (*os.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.files[name]; f != nil {
		return f, nil
	}
	f, err := os.OpenFile(filepath.Join(o.dir, name), os.O_WRONLY|os.O_CREATE|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if o.files == nil {
		o.files = map[string]*os.File{}
	}
	o.files[name] = f
	return f, nil
}

func (o *output) close() error {
	var errs []error
	for _, f := range o.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
