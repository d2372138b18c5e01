package main

import (
	"fmt"
	"io"
	"os"
)

// mostInput is how many bytes a file that is handed in can have: a plan for 200,000 partitions is
// about 80 MB.
const mostInput = 128 << 20

// readInput reads a file that is handed in, whole. A pipe is read too, but nothing without end is.
func readInput(path string) ([]byte, error) { return readAtMost(path, mostInput) }

func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > most:
		return nil, fmt.Errorf("%s has more than %d bytes, which nothing that can be handed in has", path, most)
	}
	return b, nil
}
