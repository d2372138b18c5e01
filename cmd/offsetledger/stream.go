package main

import (
	"errors"

	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

// rowWriter writes rows that come one after the other, in any format: each is out when flush
// returns. There is no document to close in JSON, so that is one object a line like jsonl.
type rowWriter struct {
	a    *app
	csv  *table.CSV
	grow table.Flusher
}

// newRowWriter returns a writer of rows of the type of row.
func newRowWriter(a *app, columns []table.Column, row any) *rowWriter {
	return &rowWriter{a: a, csv: table.NewCSV(a.stdout, row), grow: table.Flusher{Table: &table.Table{Columns: columns}}}
}

// tabular reports whether the format wants lines of cells rather than rows.
func (w *rowWriter) tabular() bool { return w.a.text() || w.a.output == outAWK }

func (w *rowWriter) line(cells []string) { w.grow.Table.Row(cells...) }

func (w *rowWriter) row(row any) error {
	if w.a.output == outCSV {
		return w.csv.Write(row)
	}
	return w.a.printJSON(row)
}

func (w *rowWriter) flush() error {
	switch {
	case w.a.output == outCSV:
		return w.csv.Flush()
	case w.tabular():
		return w.grow.Flush(w.a.stdout, w.a.output == outAWK)
	}
	return nil
}

// streamEnded writes what is left of a stream. One that was to go on has no end of its own.
func (a *app) streamEnded(out *rowWriter, follow bool) error {
	err := out.flush()
	if err == nil && follow {
		err = errors.New("the daemon has stopped")
	}
	return err
}
