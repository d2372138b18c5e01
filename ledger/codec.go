package ledger

// AppendBinary appends the encoding of e to b, as docs/event.proto specifies it.
func (e *Event) AppendBinary(b []byte) ([]byte, error) { panic("codec") }

// Decode decodes one event.
func Decode(b []byte) (Event, error) { panic("codec") }

// Decoder decodes events one after the other and reuses memory.
type Decoder struct{}

// Decode decodes b into e, reusing e's slices.
func (d *Decoder) Decode(b []byte, e *Event) error { panic("codec") }

// Clone returns a copy of e that shares no slices with it.
func (e Event) Clone() Event { panic("codec") }
