// Package table lays out rows of text: aligned for people, separated by tabs for awk, or as
// CSV. It knows nothing of what the rows mean, cuts nothing and colours nothing.
package table

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Column is one column of a [Table].
type Column struct {
	Name  string // has no blanks, so that awk can tell headers apart
	Right bool   // numbers that people compare are aligned at their last digit
}

// Table gathers rows and writes them aligned. Cells must hold no line breaks or tabs; an
// empty one is written as "-".
type Table struct {
	Columns []Column
	rows    [][]string
}

// Row adds a row, with one cell for every column.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.Columns))
	copy(row, cells)
	for i, c := range row {
		row[i] = orDash(c)
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write writes the header and the rows, two blanks between columns and none at the end of a
// line.
func (t *Table) Write(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	t.line(&b, widths, names)
	for _, row := range t.rows {
		t.line(&b, widths, row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
	}
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t *Table) line(b *strings.Builder, widths []int, cells []string) {
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		last := i == len(cells)-1
		switch {
		case t.Columns[i].Right:
			b.WriteString(pad + cell)
		case last:
			b.WriteString(cell)
		default:
			b.WriteString(cell + pad)
		}
		if !last {
			b.WriteString("  ")
		}
	}
	b.WriteByte('\n')
}

// WriteTabs writes the rows for awk: a tab between cells, no header.
func (t *Table) WriteTabs(w io.Writer) error {
	var b strings.Builder
	for _, row := range t.rows {
		b.WriteString(strings.Join(row, "\t"))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Flusher writes a table that grows: the rows that came, under a header the first time. A
// table that grows cannot know its widest cell, so columns only ever widen.
type Flusher struct {
	Table  *Table
	widths []int
}

// Flush writes the rows gathered since the last one.
func (f *Flusher) Flush(w io.Writer, tabs bool) error {
	t := f.Table
	defer func() { t.rows = t.rows[:0] }()
	if tabs {
		return t.WriteTabs(w)
	}
	var b strings.Builder
	widths := t.widths()
	if f.widths == nil {
		f.widths = widths
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		t.line(&b, widths, names)
	}
	for i := range widths {
		f.widths[i] = max(f.widths[i], widths[i])
	}
	for _, row := range t.rows {
		t.line(&b, f.widths, row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orDash(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}
