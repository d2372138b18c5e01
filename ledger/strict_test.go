package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

type strictRow struct {
	Topic     ledger.Text `json:"topic"`
	Partition int32       `json:"partition"`
	Offset    *int64      `json:"offset"`
	Time      ledger.Time `json:"time"`
	ID        *uuid.UUID  `json:"id"`
}

type strictDoc struct {
	Command string         `json:"command"`
	Clamp   bool           `json:"clamp"`
	Seq     uint64         `json:"seq"`
	Groups  []ledger.Text  `json:"groups"`
	Rows    []strictRow    `json:"rows"`
	Own     *strictOwnWays `json:"own"`
}

// strictOwnWays reads itself.
type strictOwnWays struct{ n int }

func (s *strictOwnWays) UnmarshalJSON(b []byte) error {
	var w struct {
		N []struct{ M int }
	}
	err := json.Unmarshal(b, &w)
	s.n = len(w.N)
	return err
}

// Whatever does not belong into a document is told with its field, and in words that are not those
// of the program.
func TestUnmarshalStrictSaysWhere(t *testing.T) {
	for doc, says := range map[string]string{
		``:                                "line 1: it ends in the middle",
		"{\n\"command\":":                 "line 2: it ends in the middle",
		`{"command":"a"`:                  "line 1: it ends in the middle",
		"{\n\"command\" x}":               "line 2: it is not JSON from x} on",
		"topic,0,5\n":                     "line 1: it is not JSON from ",
		`{} {}`:                           "line 1: something follows the document",
		`{"comand":"a"}`:                  "comand: there is no such field",
		`{"rows":[{},{"offest":5}]}`:      "rows[1].offest: there is no such field",
		`[]`:                              "line 1: a list was given, and an object is expected",
		`{"command":5}`:                   "command: 5 was given, and a text is expected",
		`{"clamp":"yes"}`:                 `clamp: "yes" was given, and true or false is expected`,
		`{"seq":-1}`:                      "seq: -1 was given, and a whole number from 0 on is expected",
		`{"groups":"g"}`:                  `groups: "g" was given, and a list is expected`,
		`{"groups":["g",{}]}`:             "groups[1]: an object was given, and a text is expected",
		`{"groups":["g","\"\\x"]}`:        "groups[1]: ",
		`{"rows":{}}`:                     "rows: an object was given, and a list is expected",
		`{"rows":[{"partition":3e9}]}`:    "rows[0].partition: 3e9 was given, and a whole number from -2147483648 to 2147483647 is expected",
		`{"rows":[{},{"offset":"x"}]}`:    `rows[1].offset: "x" was given, and a whole number is expected`,
		`{"rows":[{"time":"yesterday"}]}`: `rows[0].time: "yesterday" was given, and a time, as in 2026-11-30T02:46:00Z, is expected`,
		`{"rows":[{"id":"7"}]}`:           `rows[0].id: "7" was given, and an id, as in 6c8169b7-35a7-4fff-8107-0ec9562bf088, is expected`,
		`{"own":{"n":[{"m":"x"}]}}`:       "own: in N.M a string was given, and a whole number is expected",
		`{"command":{"` + strings.Repeat("x", 99) + `":1}}`: "command: an object was given",
	} {
		err := ledger.UnmarshalStrict([]byte(doc), &strictDoc{})
		require.ErrorContains(t, err, says, doc)
		require.NotContains(t, err.Error(), "json:", doc)
		require.NotContains(t, err.Error(), "Go ", doc)
	}
	var fault *ledger.JSONError
	require.ErrorAs(t, ledger.UnmarshalStrict([]byte("{\"rows\": [\n{},\n{\"offset\":\n \"x\"}]}"), &strictDoc{}), &fault)
	require.Equal(t, 4, fault.Line)
	var read strictDoc
	require.NoError(t, ledger.UnmarshalStrict([]byte(" {\"command\":\"a\",\"rows\":[{\"offset\":5}]} \n"), &read))
	require.Equal(t, "a", read.Command)
	require.EqualValues(t, 5, *read.Rows[0].Offset)
}

// No document panics, and what is refused is refused in words.
func FuzzUnmarshalStrict(f *testing.F) {
	for _, doc := range []string{`{`, `[]`, `{"rows":[{"offset":"x"}]}`, `{"groups":["\"\\x"]}`, "{} x"} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if err := ledger.UnmarshalStrict(doc, &strictDoc{}); err != nil {
			require.NotContains(t, err.Error(), "json: ")
		}
	})
}
