package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// snapshotFormat is the version of everything in a snapshot that is written. Those of before it are
// read too: format 1 had no list of events. A newer one is passed over: the state is in the log as
// well.
const snapshotFormat = 2

// manifestName is the object without which a snapshot does not exist. It is written last.
const manifestName = "manifest"

// Manifest says what a snapshot is, and of which parts it consists.
type Manifest struct {
	Format      int       `json:"format"`
	Incarnation uuid.UUID `json:"incarnation"` // of the stream
	Seq         uint64    `json:"seq"`         // the state is that after this sequence
	// Appended is when the record at Seq was stored, to the nanosecond. A log whose record there
	// has another append time is not the log that the state is of, as after it lost its end.
	Appended time.Time `json:"appended"`
	// LatestMillis is the latest moment of anything in the state, in milliseconds since the Unix
	// epoch: as of that moment and later ones it can be gone on from, as of earlier ones not.
	LatestMillis int64 `json:"latest_ms"`
	// NamedMillis is the latest moment that any clock named up to there, see [projection.State.Named];
	// 0 if it is not known. What happened later, by whatever clock, stands behind Seq.
	NamedMillis int64     `json:"named_ms,omitempty"`
	Taken       time.Time `json:"taken"`
	LogBytes    uint64    `json:"log_bytes"` // size of the log when it was taken
	// EventsAfter is where the list of events begins, if there is one: behind this sequence.
	EventsAfter uint64        `json:"events_after,omitempty"`
	Groups      int           `json:"groups"`
	Partitions  int           `json:"partitions"` // that a group has or had an offset for
	Parts       []ManifestRow `json:"parts"`      // sorted by name
}

// ManifestRow is one part: an object beside the manifest.
type ManifestRow struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // of the object as it is stored, in hexadecimal
}

// ID names the snapshot: "s" and its sequence.
func (m *Manifest) ID() string { return "s" + strconv.FormatUint(m.Seq, 10) }

// Latest is LatestMillis as a Time.
func (m *Manifest) Latest() ledger.Time { return ledger.AtMillis(m.LatestMillis) }

// Named is NamedMillis as a Time, and the last moment there is if it is not known.
func (m *Manifest) Named() ledger.Time {
	if m.NamedMillis == 0 {
		return ledger.AtMillis(math.MaxInt64)
	}
	return ledger.AtMillis(m.NamedMillis)
}

// Bytes is how large the parts are together.
func (m *Manifest) Bytes() int {
	n := 0
	for _, p := range m.Parts {
		n += p.Bytes
	}
	return n
}

func (m *Manifest) part(name string) (ManifestRow, bool) {
	for _, p := range m.Parts {
		if p.Name == name {
			return p, true
		}
	}
	return ManifestRow{}, false
}

// encode writes the manifest: the SHA-256 of what follows, a line feed, and JSON.
func (m *Manifest) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append([]byte(digest(b)+"\n"), b...), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// decodeManifest is the inverse. It fails on anything that it does not know, since a snapshot
// is never worth a guess.
func decodeManifest(b []byte) (Manifest, error) {
	sum, text, ok := bytes.Cut(b, []byte("\n"))
	if !ok || string(sum) != digest(text) {
		return Manifest{}, fmt.Errorf("its manifest is damaged: %d bytes do not have their digest", len(b))
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return Manifest{}, fmt.Errorf("its manifest: %w", err)
	}
	if version.Format < 1 || version.Format > snapshotFormat {
		return Manifest{}, fmt.Errorf("it has format %d, and this version reads those up to %d", version.Format, snapshotFormat)
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("its manifest: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF || m.Seq == 0 {
		return Manifest{}, fmt.Errorf("its manifest makes no sense: sequence %d", m.Seq)
	}
	before := ""
	for _, row := range m.Parts {
		if !isPart(row.Name) || row.Name <= before {
			return Manifest{}, fmt.Errorf("its manifest makes no sense: part %q behind %q", row.Name, before)
		}
		before = row.Name
	}
	if _, ok := m.part(capturePart); !ok && m.Groups > 0 {
		return Manifest{}, errors.New("its manifest makes no sense: it has groups, and no part " + capturePart)
	}
	return m, nil
}
