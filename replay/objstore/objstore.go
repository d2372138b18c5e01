// Package objstore keeps snapshots in a JetStream object store, beside the stream that they are
// of: a [replay.Store].
//
// A bucket is a cache and never the ledger: whatever is in it can be deleted, and comes back by a
// replay. It is made by the first Put: whoever only reads leaves nothing behind. The package knows
// nothing of what it stores.
package objstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DefaultBucket is the name of the bucket unless another is given.
const DefaultBucket = "OFFSETLEDGER_SNAPSHOTS"

// Config says which bucket, and what it should be when it is made. The zero Config is the
// default.
type Config struct {
	Bucket   string // letters, digits, `_` and `-`; empty is [DefaultBucket]
	Replicas int    // used when it is made; 0 is 1
}

func (c Config) withDefaults() Config {
	if c.Bucket == "" {
		c.Bucket = DefaultBucket
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	return c
}

// Bucket is a [replay.Store]. Its methods may be called from any goroutine. The connection
// belongs to the caller.
type Bucket struct {
	cfg Config
	js  jetstream.JetStream

	mu     sync.Mutex
	opened *opened // nil until the bucket was found or made
}

// opened is a bucket that is there.
type opened struct {
	objects jetstream.ObjectStore
	stream  jetstream.Stream // that the objects are in
}

// New returns the bucket, whether it is there or not. It asks the server nothing yet.
func New(nc *nats.Conn, cfg Config) (*Bucket, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", cfg.withDefaults().Bucket, err)
	}
	return &Bucket{cfg: cfg.withDefaults(), js: js}, nil
}

// open finds the bucket. If there is none, and it is not to be made, it returns nil.
func (b *Bucket) open(ctx context.Context, create bool) (*opened, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return b.opened, nil
	}
	objects, err := b.js.ObjectStore(ctx, b.cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		if !create {
			return nil, nil
		}
		objects, err = b.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: b.cfg.Bucket, Description: "offsetledger: snapshots, a cache", Storage: jetstream.FileStorage, Replicas: b.cfg.Replicas,
		})
	}
	if err != nil {
		return nil, err
	}
	stream, err := b.js.Stream(ctx, "OBJ_"+b.cfg.Bucket)
	if err != nil {
		return nil, err
	}
	b.opened = &opened{objects, stream}
	return b.opened, nil
}

// chunkSize is what goes into one message: most objects go into one, and the smallest limit of a
// message that servers have by default is twice that.
const chunkSize = 512 << 10

// The subjects of an object store: of the chunks of an object, and of what is known of it.
func (b *Bucket) chunks(id string) string { return "$O." + b.cfg.Bucket + ".C." + id }
func (b *Bucket) info(name string) string {
	return "$O." + b.cfg.Bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:])
}

// Put writes an object, in chunks that fit into messages. Readers see the one before until all
// of it is there.
//
// It does what the client's own does, one message after the other: that one starts a goroutine
// for each object, which stays for ever if it comes late.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	if err := b.put(ctx, name, data); err != nil {
		return fmt.Errorf("put object %s in %s: %w", name, b.cfg.Bucket, err)
	}
	return nil
}

func (b *Bucket) put(ctx context.Context, name string, data []byte) error {
	o, err := b.open(ctx, true)
	if err != nil {
		return err
	}
	before, err := o.objects.GetInfo(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		before, err = nil, nil
	case err != nil:
		return err
	}
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     b.cfg.Bucket, NUID: uuid.NewString(), Size: uint64(len(data)), Digest: digest(data),
	}
	stale := info.NUID // chunks that no object has
	for chunk := range slices.Chunk(data, chunkSize) {
		if _, err = b.js.Publish(ctx, b.chunks(info.NUID), chunk); err != nil {
			break
		}
		info.Chunks++
	}
	if err == nil {
		err = b.putInfo(ctx, &info)
	}
	if err == nil {
		if before == nil {
			return nil
		}
		stale = before.NUID
	}
	purging, cancel := context.WithTimeout(context.WithoutCancel(ctx), purgeTimeout)
	defer cancel()
	return errors.Join(err, o.stream.Purge(purging, jetstream.WithPurgeSubject(b.chunks(stale))))
}

// purgeTimeout bounds the removal of what a failed Put leaves.
const purgeTimeout = 5 * time.Second

func (b *Bucket) putInfo(ctx context.Context, info *jetstream.ObjectInfo) error {
	m := nats.NewMsg(b.info(info.Name))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	var err error
	if m.Data, err = json.Marshal(info); err != nil {
		return err
	}
	_, err = b.js.PublishMsg(ctx, m)
	return err
}

// Get reads an object, whose digest is checked. One that is not there is [fs.ErrNotExist].
func (b *Bucket) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := b.get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("get object %s in %s: %w", name, b.cfg.Bucket, err)
	}
	return data, nil
}

// get asks for an object of one chunk directly: a consumer, as the client uses, takes ten times
// as long.
func (b *Bucket) get(ctx context.Context, name string) ([]byte, error) {
	o, err := b.open(ctx, false)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fs.ErrNotExist
	}
	info, err := o.objects.GetInfo(ctx, name)
	if err != nil || info.Size == 0 {
		return nil, err
	}
	if info.Chunks > 1 {
		return o.objects.GetBytes(ctx, name)
	}
	m, err := o.stream.GetLastMsgForSubject(ctx, b.chunks(info.NUID))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = jetstream.ErrObjectNotFound // another Put, or Delete, came in between
	}
	if err != nil {
		return nil, err
	}
	if digest(m.Data) != info.Digest {
		return nil, jetstream.ErrDigestMismatch
	}
	return m.Data, nil
}

// Delete removes an object, and the note that an object store keeps of each that it has deleted:
// snapshots come and go for years.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	o, err := b.open(ctx, false)
	if err == nil && o != nil {
		err = o.objects.Delete(ctx, name)
	}
	if o == nil && err == nil || errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err == nil {
		err = o.stream.Purge(ctx, jetstream.WithPurgeSubject(b.info(name)))
	}
	if err != nil {
		return fmt.Errorf("delete object %s in %s: %w", name, b.cfg.Bucket, err)
	}
	return nil
}

// Names returns the names of all objects, in no order.
func (b *Bucket) Names(ctx context.Context) ([]string, error) {
	o, err := b.open(ctx, false)
	if o == nil && err == nil {
		return nil, nil
	}
	var all []*jetstream.ObjectInfo
	if err == nil {
		all, err = o.objects.List(ctx)
	}
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("objects of %s: %w", b.cfg.Bucket, err)
	}
	names := make([]string, len(all))
	for i, info := range all {
		names[i] = info.Name
	}
	return names, nil
}
