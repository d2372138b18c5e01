package replay

import (
	"slices"
	"strings"
	"sync"
)

// cachedBytes bounds the parts that are held unpacked.
const cachedBytes = 64 << 20

// partCache holds the parts that questions about single groups needed last, unpacked: who asks
// about one moment of a night asks about others. A part is never written to.
type partCache struct {
	mu    sync.Mutex
	parts map[string]part // by snapshot and name
	order []string        // the one that was used last is last
	bytes int
}

// get returns a part that is held, nil if it is not.
func (c *partCache) get(key string) part {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.parts[key]
	if !ok {
		return nil
	}
	i := slices.Index(c.order, key)
	c.order = append(slices.Delete(c.order, i, i+1), key)
	return p
}

// put holds a part, and lets go of those that were not used for the longest time.
func (c *partCache) put(key string, p part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.parts[key]; ok || len(p) > cachedBytes/4 {
		return
	}
	if c.parts == nil {
		c.parts = map[string]part{}
	}
	c.parts[key] = p
	c.order = append(c.order, key)
	c.bytes += len(p)
	for c.bytes > cachedBytes {
		c.drop(c.order[0])
	}
}

// forget lets go of all parts of a snapshot: another one can come to have its id.
func (c *partCache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Clone(c.order) {
		if strings.HasPrefix(key, id+"/") {
			c.drop(key)
		}
	}
}

func (c *partCache) drop(key string) {
	c.bytes -= len(c.parts[key])
	delete(c.parts, key)
	c.order = slices.DeleteFunc(c.order, func(k string) bool { return k == key })
}
