// Package natskv keeps the values of a [projection.BackendStore] in a JetStream key-value
// bucket, where any NATS client can read and watch them.
//
// A bucket is a cache beside the ledger and never the ledger: it holds the newest value of a
// key and no history, and the server compacts it, which can lose what was acknowledged when a
// machine loses power. What is lost is brought back by a replay, with [projection.Restock].
//
// The package refuses to make a bucket unless it is told to ([Create]), and never changes the
// settings of one that is there.
package natskv

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DefaultBucket is the name of the bucket unless another is given.
const DefaultBucket = "offsets"

// The errors of this package. Match them with [errors.Is].
var (
	// ErrExists: there is a bucket of that name already, with other settings.
	ErrExists = errors.New("bucket exists")
	// ErrNotFound: there is no bucket of that name.
	ErrNotFound = errors.New("bucket not found")
)

// Config says which bucket, and what it should be when it is made. The zero Config is the
// default.
type Config struct {
	Bucket   string // letters, digits, `_` and `-`; empty is [DefaultBucket]
	Replicas int    // used by Create only; 0 is 1
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

// Bucket is a [projection.StateBackend] over a key-value bucket. Its methods may be called from
// any goroutine. The connection belongs to the caller.
type Bucket struct {
	kv jetstream.KeyValue
}

// Create makes the bucket and opens it. One that is there with the same settings is opened; one
// with others is [ErrExists].
func Create(ctx context.Context, nc *nats.Conn, cfg Config) (*Bucket, error) {
	cfg = cfg.withDefaults()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("create bucket %s: %w", cfg.Bucket, err)
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: cfg.Bucket, Description: "committed offsets, brought back from the ledger when lost",
		History: 1, Storage: jetstream.FileStorage, Replicas: cfg.Replicas,
	})
	if errors.Is(err, jetstream.ErrBucketExists) {
		err = ErrExists
	}
	if err != nil {
		return nil, fmt.Errorf("create bucket %s: %w", cfg.Bucket, err)
	}
	return &Bucket{kv}, nil
}

// Open opens the bucket and never makes it: it fails with [ErrNotFound] when there is none.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Bucket, error) {
	cfg = cfg.withDefaults()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", cfg.Bucket, err)
	}
	kv, err := js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", cfg.Bucket, err)
	}
	return &Bucket{kv}, nil
}

// Get implements [projection.StateBackend].
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, bool, error) {
	entry, err := b.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("get %s: %w", key, err)
	}
	return entry.Value(), true, nil
}

// Put implements [projection.StateBackend].
func (b *Bucket) Put(ctx context.Context, key string, value []byte) error {
	if _, err := b.kv.Put(ctx, key, value); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// Delete implements [projection.StateBackend]. It purges, so that the key leaves one small
// marker behind and no value.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.kv.Purge(ctx, key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// Keys implements [projection.StateBackend]. All keys are listed before the first is yielded,
// so that a list that was cut short by the end of a connection yields an error and no key.
func (b *Bucket) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		keys, err := b.keys(ctx, prefix)
		if err != nil {
			yield("", fmt.Errorf("list keys %s of bucket %s: %w", prefix, b.kv.Bucket(), err))
			return
		}
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// keys watches for what is there already, which a nil entry ends. The client's own listing does
// the same, and cannot tell the end of the keys from that of the connection.
func (b *Bucket) keys(ctx context.Context, prefix string) (keys []string, err error) {
	w, err := b.kv.WatchFiltered(ctx, []string{prefix + ">"}, jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, w.Stop())
		for range w.Updates() { // until it is closed: the client must not wait for a reader
		}
	}()
	for {
		select {
		case entry, ok := <-w.Updates():
			switch {
			case !ok:
				return nil, nats.ErrConnectionClosed
			case entry == nil:
				return keys, nil
			}
			keys = append(keys, entry.Key())
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
