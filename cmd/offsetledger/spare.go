package main

import (
	"os"
	"strconv"
	"strings"
)

// mostSpare is by how much more than it holds the memory of the daemon may grow before the garbage
// collector runs. The NATS server in this process unpacks blocks of eight megabytes, of which each
// collection takes away all that nobody reads at that moment: with a small heap it unpacks them for
// nearly every question about the past.
const mostSpare = 512 << 20

// containerLimit is where Linux says how much memory this container may have.
const containerLimit = "/sys/fs/cgroup/memory.max"

// spareMemory returns memory that nobody touches, so that it takes none: the collector counts it as
// in use, and waits for as much garbage. It has to be held for as long as it is to count. There is
// none if the environment says how the collector is to run.
func spareMemory(getenv func(string) string, limitFile string) []byte {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	spare := mostSpare
	if text, err := os.ReadFile(limitFile); err == nil {
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 62); err == nil {
			spare = min(spare, int(limit/8))
		}
	}
	return make([]byte, spare)
}
