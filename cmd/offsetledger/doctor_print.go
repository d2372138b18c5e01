package main

import (
	"fmt"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

func (a *app) printDiagnosis(d *diagnosis) error {
	if a.output == outJSON {
		return a.printJSON(d)
	}
	if k := d.Kafka; k != nil {
		if err := a.printAccess(k); err != nil {
			return err
		}
	}
	if d.Ledger == nil {
		return nil
	}
	if d.Kafka != nil {
		fmt.Fprintln(a.stdout)
	}
	return a.printLedger(d.Ledger)
}

func (a *app) printAccess(k *kafkaReport) error {
	id := "unknown"
	if k.ClusterID != nil {
		id = *k.ClusterID
	}
	fmt.Fprintf(a.stdout, "KAFKA    %s   cluster %s\n", k.Brokers, id)
	fmt.Fprintf(a.stdout, "CAPTURE  %s: %s\n", k.Capture, k.Why)
	if k.ClusterID != nil {
		fmt.Fprintf(a.stdout, "HOLDS    %s, %s, %s; __consumer_offsets has %s, oldest record %s\n",
			counted(k.Groups, "group"), counted(k.Topics, "topic"), counted(k.Partitions, "partition"),
			counted(k.SourcePartitions, "partition"), k.OldestRecord)
	}
	if k.RowsPerSecond != nil {
		fmt.Fprintf(a.stdout, "EXPECT   %s\n", k.growth())
	}
	t := &table.Table{Columns: []table.Column{{Name: "RIGHT"}, {Name: "ANSWER"}, {Name: "NEEDED"}, {Name: "DETAIL"}}}
	for _, r := range k.Rights {
		detail := r.Detail
		if !r.OK {
			detail = withMend(detail, r.Mend)
		}
		t.Row(r.Name, answer(r.OK, r.Known), yesNo(r.Needed), detail)
	}
	return t.Write(a.stdout)
}

// growth is what a ledger of the cluster would take on disk.
func (k *kafkaReport) growth() string {
	event := "none was seen, so ten at once are taken"
	if k.RowsPerEvent != nil {
		event = fmt.Sprintf("%.1f at once", *k.RowsPerEvent)
	}
	text := fmt.Sprintf("%s a day, at the %.0f offsets a second of the last %s, %.1f bytes each (%s)",
		size(*k.BytesPerDay), *k.RowsPerSecond, rateOver, *k.BytesPerRow, event)
	if k.WatermarkBytesPerDay != nil {
		text += fmt.Sprintf("\n         and up to %s a day of watermarks, if all partitions are written to all the time", size(*k.WatermarkBytesPerDay))
	}
	return text
}

func (a *app) printLedger(l *api.Ledger) error {
	growth := "too young to say how it grows"
	if l.BytesPerDay != nil {
		growth = fmt.Sprintf("grows by %s a day", size(*l.BytesPerDay))
	}
	fmt.Fprintf(a.stdout, "LEDGER   %s, %s before compression, from %s to %s; %s\n",
		count(int(l.Events), "event"), size(float64(l.Bytes)), l.From, l.To, growth)
	t := &table.Table{Columns: []table.Column{{Name: "CHECK"}, {Name: "ANSWER"}, {Name: "NEEDED"}, {Name: "DETAIL"}}}
	for _, c := range l.Checks {
		detail := c.Detail
		if !c.OK {
			detail = withMend(detail, c.Mend)
		}
		t.Row(c.Name, answer(c.OK, true), yesNo(!c.Advice), detail)
	}
	return t.Write(a.stdout)
}

// size is a number of bytes in the unit that it is read best in.
func size(bytes float64) string {
	switch {
	case bytes < 1e3:
		return fmt.Sprintf("%.0f B", bytes)
	case bytes < 1e6:
		return fmt.Sprintf("%.1f kB", bytes/1e3)
	case bytes < 1e9:
		return fmt.Sprintf("%.1f MB", bytes/1e6)
	}
	return fmt.Sprintf("%.1f GB", bytes/1e9)
}

func answer(ok, known bool) string {
	if !known {
		return "unknown"
	}
	return yesNo(ok)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// counted is a number of things that may not be known.
func counted[N int | int32](n *N, what string) string {
	if n == nil {
		return "unknown " + what + "s"
	}
	return count(int(*n), what)
}
