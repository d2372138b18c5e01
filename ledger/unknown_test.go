package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// newFields are fields that this version does not have, of every wire type.
func newFields() []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 300)
	b = protowire.AppendString(protowire.AppendTag(b, 1001, protowire.BytesType), "new")
	b = protowire.AppendFixed32(protowire.AppendTag(b, 1002, protowire.Fixed32Type), 7)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 1003, protowire.Fixed64Type), 8)
	return protowire.AppendGroup(protowire.AppendTag(b, 1004, protowire.StartGroupType), 1004, []byte{8, 1})
}

// A newer version has put fields into an event and into every message in it. An older one that
// stores the event again must not lose them, nor move them.
func TestUnknownFieldsSurvive(t *testing.T) {
	for name, e := range goldenEvents() {
		if name == "newer" {
			continue
		}
		e = e.Clone()
		e.unknown = newFields()
		e.inner = append(e.inner, innerUnknown{7, newFields()})
		for _, num := range []protowire.Number{8, 9, 10} {
			e.inner = append(e.inner, innerUnknown{num, newFields()})
		}
		if num := payloadField[e.Kind]; num != 0 {
			e.inner = append(e.inner, innerUnknown{num, newFields()})
		}
		if e.Membership != nil {
			e.Membership.Members[0].unknown = newFields()
			e.Membership.Members[0].Assigned[1].unknown = newFields()
		}
		if e.Watermarks != nil && len(e.Watermarks.Unanswered) > 0 {
			e.Watermarks.Unanswered[0].unknown = newFields()
		}
		if e.Cursor != nil {
			e.Cursor.Lines[2].Open[1].unknown = newFields()
			if h := e.Cursor.Lines[2].Hole; h != nil {
				h.unknown = newFields()
			}
		}
		b := encoded(t, e)
		back, err := Decode(b)
		require.NoError(t, err, name)
		require.Equal(t, e, back, name)
		require.Equal(t, b, encoded(t, back.Clone()), name)
	}
}

// A kind that this version does not know is kept with all it holds, payload included.
func TestUnknownKindSurvives(t *testing.T) {
	e := goldenEvents()["newer"]
	payload := protowire.AppendBytes(protowire.AppendTag(nil, 30, protowire.BytesType), []byte{8, 1, 0x12, 0})
	b := append(encoded(t, e), payload...)
	back, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, "kind-99", back.Kind.String())
	require.Equal(t, "ol.prod.g.billing.kind-99", back.Subject())
	require.Equal(t, b, encoded(t, back))
	require.ErrorIs(t, back.Validate(), ErrInvalid, "it can be kept, but not made")
}
