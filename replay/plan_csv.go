package replay

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// WriteKafkaCSV writes where a plan moves offsets as a file that the stock tool takes: lines of
// topic,partition,offset, with the group before them if there are several, and without a head.
//
// The tool moves what the file lists, whenever that is, and nothing else. So what is kept is not
// listed, since it may have moved on until then, and a deletion cannot be. Only of a plan with the
// target current, which is made for this, all is listed that is committed. Of a plan that is
// [Plan.Impossible] nothing is.
func (p *Plan) WriteKafkaCSV(w io.Writer) error {
	if p.Impossible() {
		return nil
	}
	current := p.Command == CommandReset && p.Point == (&Target{Kind: TargetCurrent}).String()
	out := csv.NewWriter(w)
	for i := range p.Groups {
		g := &p.Groups[i]
		for j := range g.Steps {
			s := &g.Steps[j]
			listed := s.Action == ActionSet || current && s.Action == ActionKeep && s.Target.Exists && s.Target == s.Current
			if !listed {
				continue
			}
			line := []string{s.Topic, strconv.Itoa(int(s.Partition)), strconv.FormatInt(s.Target.At, 10)}
			if len(p.Groups) > 1 {
				line = append([]string{g.Group}, line...)
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// ParseKafkaCSV reads a file of the stock tool: topic,partition,offset for one group, or
// group,topic,partition,offset for several. The error is a [PlanError] that names the line.
func ParseKafkaCSV(b []byte) ([]FileRow, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff")))) // as spreadsheets begin a file
	r.FieldsPerRecord = -1
	var rows []FileRow
	width := 0
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var fault *csv.ParseError
		if errors.As(err, &fault) {
			return nil, &PlanError{Line: fault.Line, Reason: "a quotation mark is not closed, or stands inside a field"}
		}
		if err != nil {
			return nil, err
		}
		line, _ := r.FieldPos(0)
		if width == 0 {
			width = len(fields)
		}
		row, why := fileRow(fields, width)
		if why != "" {
			return nil, &PlanError{Line: line, Reason: why}
		}
		row.Line = line
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, &PlanError{Line: 1, Reason: "the file lists nothing"}
	}
	if err := CheckRows(rows, nil); err != nil {
		return nil, err
	}
	sortRows(rows)
	return rows, nil
}

// CheckRows looks whether the rows of a file go together, and with the groups that a plan is for:
// none stands for those of the rows. The error is a [PlanError] that names the line, or the number
// of the row from 0 if it is of no file.
func CheckRows(rows []FileRow, groups []string) error {
	seen, with := map[FileRow]int{}, map[string]bool{}
	for i, row := range rows {
		fault := func(format string, args ...any) error {
			err := planFault(fmt.Sprintf("rows[%d]", i), format, args...)
			if row.Line > 0 {
				err.Line, err.Field = row.Line, ""
			}
			return err
		}
		name := fmt.Sprintf("%s/%d", ledger.Spell(row.Topic), row.Partition)
		key := row
		key.Offset, key.Line = 0, 0
		seen[key]++
		switch {
		case row.HasGroup != rows[0].HasGroup:
			return fault("some rows name a group, and some do not")
		case seen[key] > 1:
			return fault("%s is listed twice", name)
		case row.HasGroup && len(groups) > 0 && !slices.Contains(groups, row.Group):
			return fault("it is about group %s, and the plan is for %s: name that group too, leave the line out, or name no group for all of the file",
				shown(row.Group), spelled(groups))
		}
		with[row.Group] = true
	}
	if len(rows) == 0 || !rows[0].HasGroup {
		return nil
	}
	for _, g := range groups {
		if !with[g] {
			return planFault("rows", "none is about group %s: leave that group out", shown(g))
		}
	}
	return nil
}

// shown is a name in a sentence, where the empty one has to be seen.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	return ledger.Spell(name)
}

func spelled(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = shown(n)
	}
	return strings.Join(out, ", ")
}

func sortRows(rows []FileRow) {
	slices.SortFunc(rows, func(a, b FileRow) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		return comparePartitions(ledger.TopicPartition{Topic: a.Topic, Partition: a.Partition}, ledger.TopicPartition{Topic: b.Topic, Partition: b.Partition})
	})
}

// fileRow reads a line, or says what is wrong with it.
func fileRow(fields []string, width int) (row FileRow, why string) {
	switch {
	case len(fields) != width:
		return row, fmt.Sprintf("%s, and %d in the lines before", ledger.Count(len(fields), "field"), width)
	case width == 4:
		row.Group, row.HasGroup, fields = fields[0], true, fields[1:]
	case width != 3:
		return row, ledger.Count(width, "field") + "; a line is topic,partition,offset or group,topic,partition,offset"
	}
	partition, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || partition < 0 {
		return row, fmt.Sprintf("%q is no partition", fields[1])
	}
	offset, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || offset < 0 {
		return row, fmt.Sprintf("%q is no offset", fields[2])
	}
	if fields[0] == "" {
		return row, "the topic is missing"
	}
	row.Topic, row.Partition, row.Offset = fields[0], int32(partition), offset
	return row, ""
}
