package replay

import (
	"slices"
	"strings"
	"sync"
)

// cachedBytes bounds what each cache holds.
const cachedBytes = 64 << 20

// recent holds what questions about single groups needed last: who asks about one moment of a
// night asks about others. What it holds is never written to.
type recent[V any] struct {
	mu    sync.Mutex
	held  map[string]cached[V]
	order []string // the one that was used last is last
	bytes int
}

type cached[V any] struct {
	value V
	bytes int
}

// get returns what is held under a key.
func (c *recent[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.held[key]
	if ok {
		i := slices.Index(c.order, key)
		c.order = append(slices.Delete(c.order, i, i+1), key)
	}
	return h.value, ok
}

// put holds something of a size, in place of what was under that key, and lets go of what was not
// used for the longest time.
func (c *recent[V]) put(key string, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.held[key]; ok {
		c.drop(key)
	}
	if bytes > cachedBytes/4 {
		return
	}
	if c.held == nil {
		c.held = map[string]cached[V]{}
	}
	c.held[key] = cached[V]{value, bytes}
	c.order = append(c.order, key)
	c.bytes += bytes
	for c.bytes > cachedBytes {
		c.drop(c.order[0])
	}
}

// forget lets go of all that is held of a snapshot: another one can come to have its id.
func (c *recent[V]) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Clone(c.order) {
		if strings.HasPrefix(key, id+"/") {
			c.drop(key)
		}
	}
}

func (c *recent[V]) drop(key string) {
	c.bytes -= c.held[key].bytes
	delete(c.held, key)
	c.order = slices.DeleteFunc(c.order, func(k string) bool { return k == key })
}
