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
	text := fmt.Sprintf("%.1f MB a day, at the %.0f offsets a second of the last %s, %.1f bytes each (%s)",
		*k.BytesPerDay/1e6, *k.RowsPerSecond, rateOver, *k.BytesPerRow, event)
	if k.WatermarkBytesPerDay != nil {
		text += fmt.Sprintf("\n         and up to %.1f MB a day of watermarks, if all partitions are written to all the time", *k.WatermarkBytesPerDay/1e6)
	}
	return text
}

func (a *app) printLedger(l *api.Ledger) error {
	growth := "too young to say how it grows"
	if l.BytesPerDay != nil {
		growth = fmt.Sprintf("grows by %.1f MB a day", *l.BytesPerDay/1e6)
	}
	fmt.Fprintf(a.stdout, "LEDGER   %d events, %.1f MB before compression, from %s to %s; %s\n",
		l.Events, float64(l.Bytes)/1e6, l.From, l.To, growth)
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
