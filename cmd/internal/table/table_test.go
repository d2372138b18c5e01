package table_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

func TestColumnsAreAligned(t *testing.T) {
	tab := table.Table{Columns: []table.Column{{Name: "GROUP"}, {Name: "LAG", Right: true}, {Name: "WHY"}}}
	tab.Row("é", "12", "")
	tab.Row("billing", "8412077", "deploy")
	var out bytes.Buffer
	require.NoError(t, tab.Write(&out))
	require.Equal(t, ""+
		"GROUP        LAG  WHY\n"+
		"é             12  -\n"+
		"billing  8412077  deploy\n", out.String())

	out.Reset()
	require.NoError(t, tab.WriteTabs(&out))
	require.Equal(t, "é\t12\t-\nbilling\t8412077\tdeploy\n", out.String())
}

func TestATableThatGrowsHasOneHeaderAndNeverNarrows(t *testing.T) {
	f := table.Flusher{Table: &table.Table{Columns: []table.Column{{Name: "A"}, {Name: "B"}}}}
	var out bytes.Buffer
	f.Table.Row("long", "x")
	require.NoError(t, f.Flush(&out, false))
	f.Table.Row("s", "y")
	require.NoError(t, f.Flush(&out, false))
	require.Equal(t, "A     B\nlong  x\ns     y\n", out.String())
	require.Zero(t, f.Table.Len())
}

func TestCSVSpreadsStructsAndLeavesUnknownEmpty(t *testing.T) {
	type who struct {
		Kind string   `json:"kind"`
		Why  []string `json:"why"`
	}
	type base struct {
		Group string `json:"group"`
	}
	type row struct {
		base
		Lag  *int64          `json:"lag"`
		Who  who             `json:"who"`
		Raw  json.RawMessage `json:"raw"`
		Note string          `json:"note,omitempty"`
	}
	lag := int64(7)
	var out bytes.Buffer
	c := table.NewCSV(&out, row{})
	require.NoError(t, c.Write(row{base{"a,b"}, &lag, who{"member", []string{"<x>"}}, json.RawMessage(`1`), "n"}))
	require.NoError(t, c.Write(row{base{"b"}, nil, who{}, nil, ""}))
	require.NoError(t, c.Flush())
	require.Equal(t, ""+
		"group,lag,who_kind,who_why,raw,note\n"+
		"\"a,b\",7,member,\"[\"\"<x>\"\"]\",1,n\n"+
		"b,,,,,\n", out.String())

	out.Reset()
	require.NoError(t, table.NewCSV(&out, row{}).Flush())
	require.Equal(t, "group,lag,who_kind,who_why,raw,note\n", out.String(), "no rows are not no table")
}
