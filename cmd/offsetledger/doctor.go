package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

const doctorHelp = `Check, before or beside the daemon, what it needs: with -B the rights that it has on a Kafka
cluster, one by one, and how it would capture it; and the stream that the ledger is stored in.
Nothing is changed. It ends with 3 when something is missing that cannot be done without.

  offsetledger doctor -B broker:9093 --command-config client.properties`

// diagnosis is what doctor found, as it prints it in JSON.
type diagnosis struct {
	Kind    string       `json:"kind"` // doctor
	Version int          `json:"version"`
	OK      bool         `json:"ok"`
	Kafka   *kafkaReport `json:"kafka"`  // null: no broker was named
	Ledger  *api.Ledger  `json:"ledger"` // null: there is none
}

// kafkaReport is what a principal may do with a cluster, and what is in it.
type kafkaReport struct {
	Brokers          string     `json:"brokers"`
	ClusterID        *string    `json:"cluster_id"` // null here and below: could not be found out
	Capture          kafka.Mode `json:"capture"`
	Why              string     `json:"why"`
	Groups           *int       `json:"groups"`
	Topics           *int       `json:"topics"`
	Partitions       *int       `json:"partitions"`
	SourcePartitions *int32     `json:"source_partitions"`
	OldestRecord     api.Time   `json:"oldest_record"`
	RetentionSeconds *float64   `json:"offsets_retention_seconds"`
	// RowsPerSecond is how fast offsets were committed while doctor looked, RowsPerEvent how
	// many at once, null if none were. BytesPerDay is what a ledger would grow by at that rate,
	// at BytesPerRow, and WatermarkBytesPerDay the most that watermarks of all partitions add.
	RowsPerSecond        *float64     `json:"rows_per_second"`
	RowsPerEvent         *float64     `json:"rows_per_event"`
	BytesPerRow          *float64     `json:"bytes_per_row"`
	BytesPerDay          *float64     `json:"bytes_per_day"`
	WatermarkBytesPerDay *float64     `json:"watermark_bytes_per_day"`
	Rights               []rightState `json:"rights"`
}

type rightState struct {
	Key    kafka.RightKey `json:"key"`
	Name   string         `json:"name"` // the key in words
	Known  bool           `json:"known"`
	OK     bool           `json:"ok"`
	Needed bool           `json:"needed"`
	Detail string         `json:"detail"`
	Mend   string         `json:"mend"`
}

func (a *app) doctorCommand() *cobra.Command {
	var flags config.Flags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what the daemon needs, before or beside it",
		Long:  doctorHelp,
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), flags) },
	}
	a.kafkaFlags(cmd, &flags)
	a.sourceFlags(cmd)
	cmd.Flags().StringVarP(&a.output, "output", "o", outTable, "table or json")
	return cmd
}

func (a *app) doctor(ctx context.Context, flags config.Flags) error {
	if err := oneOf("output", a.output, outTable, outJSON); err != nil {
		return err
	}
	k, err := a.loadKafka(flags)
	named := !errors.Is(err, config.ErrNoBrokers)
	if err != nil && named {
		return err
	}
	d := diagnosis{Kind: "doctor", Version: api.Version, OK: true}
	if named {
		if d.Kafka, d.OK, err = checkKafka(ctx, k); err != nil {
			return err
		}
	}
	if err := a.checkLedger(ctx, &d); err != nil {
		if d.Kafka != nil && a.output == outTable { // what was found out is not kept back
			return errors.Join(a.printDiagnosis(&d), err)
		}
		return err
	}
	if d.Kafka == nil && d.Ledger == nil {
		return usagef("nothing to check: name the brokers of a Kafka cluster with -B, or a ledger with --data-dir or --api")
	}
	if err := a.printDiagnosis(&d); err != nil {
		return err
	}
	if !d.OK {
		return &exitError{exitCheck, fmt.Errorf("the daemon cannot do without: %s", strings.Join(d.missing(), "; "))}
	}
	return nil
}

// missing names what is needed and not there, with the mend.
func (d *diagnosis) missing() []string {
	var out []string
	if d.Kafka != nil {
		for _, r := range d.Kafka.Rights {
			if r.Needed && !r.OK {
				out = append(out, r.Name+": "+withMend(r.Detail, r.Mend))
			}
		}
	}
	if d.Ledger != nil {
		for _, c := range d.Ledger.Checks {
			if !c.OK && !c.Advice {
				out = append(out, c.Name+": "+withMend(c.Detail, c.Mend))
			}
		}
	}
	return out
}

// rateOver is how long doctor looks at the growth of __consumer_offsets.
const rateOver = 2 * time.Second

// checkKafka asks the cluster what this principal may do, and looks at how fast it commits.
func checkKafka(ctx context.Context, k config.Kafka) (report *kafkaReport, ok bool, err error) {
	access, err := checkAccess(ctx, k)
	if err != nil {
		return nil, false, err
	}
	report = reportAccess(k, access)
	if access.Source == 0 {
		return report, access.OK(), nil
	}
	options, err := k.Options()
	if err != nil {
		return nil, false, err
	}
	if sample, err := kafka.SampleSource(ctx, options, rateOver); err == nil {
		report.expect(sample)
	}
	return report, access.OK(), nil
}

// expect takes over what a sample says about the growth of a ledger.
func (r *kafkaReport) expect(s kafka.Sample) {
	row, day := s.BytesPerRow(), s.BytesPerDay()
	r.RowsPerSecond, r.BytesPerRow, r.BytesPerDay = &s.RowsPerSecond, &row, &day
	if rows, ok := s.RowsPerEvent(); ok {
		r.RowsPerEvent = &rows
	}
	if r.Partitions != nil {
		day := kafka.WatermarkBytesPerDay(*r.Partitions)
		r.WatermarkBytesPerDay = &day
	}
}

// checkAccess asks the cluster what this principal may do.
func checkAccess(ctx context.Context, k config.Kafka) (*kafka.Access, error) {
	client, err := kafkaClient(k)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return kafka.CheckAccess(ctx, client, endpoint(k)), nil
}

func kafkaClient(k config.Kafka) (*kgo.Client, error) {
	options, err := k.Options()
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(options...)
}

// endpoint is how Kafka was to be reached, for explaining why it was not.
func endpoint(k config.Kafka) kafka.Endpoint {
	return kafka.Endpoint{Brokers: k.Brokers, TLS: strings.HasSuffix(k.Protocol, "SSL"), SASL: k.Mechanism != ""}
}

func reportAccess(k config.Kafka, access *kafka.Access) *kafkaReport {
	r := &kafkaReport{
		Brokers: k.String(), Capture: access.Mode, Why: access.Why, OldestRecord: api.Time{Time: access.Oldest},
	}
	if access.ClusterID != "" {
		r.ClusterID = &access.ClusterID
	}
	if access.Source > 0 || access.OK() {
		r.SourcePartitions = &access.Source // 0 of a topic that may not be seen says nothing
	}
	if allowed(access, kafka.RightListGroups) {
		r.Groups = &access.Groups
	}
	if allowed(access, kafka.RightDescribeTopics) {
		r.Topics, r.Partitions = &access.Topics, &access.Partitions
	}
	if access.RetentionKnown {
		seconds := access.Retention.Seconds()
		r.RetentionSeconds = &seconds
	}
	for _, right := range access.Rights {
		r.Rights = append(r.Rights, rightState{
			Key: right.Key, Name: right.Key.String(), Known: right.Known, OK: right.OK, Needed: right.Needed,
			Detail: right.Detail, Mend: right.Mend,
		})
	}
	return r
}

// allowed reports whether a right is there, so that what was found by it is known.
func allowed(access *kafka.Access, key kafka.RightKey) bool {
	right := access.Right(key)
	return right != nil && right.OK
}

// checkLedger looks at the ledger that the flags name, or at the one in the usual place. That
// there is none is no fault: doctor is run before the first start of the daemon too. Only where
// a ledger was named, and nothing else to look at, is there nothing to say without it.
func (a *app) checkLedger(ctx context.Context, d *diagnosis) error {
	w, err := a.answerer(ctx)
	if err != nil || w.missing() {
		return err
	}
	if d.Kafka != nil && w.url == "" && !holdsLedger(w.dir) {
		a.note("note: there is no ledger in %s yet: %s makes one", w.dir, a.retyped("offsetledger serve"))
		return nil
	}
	l, err := ledgerChecks(ctx, w)
	if err != nil {
		return err
	}
	d.Ledger = &l
	for _, c := range l.Checks {
		d.OK = d.OK && (c.OK || c.Advice)
	}
	return nil
}

// ledgerChecks asks the daemon, or the stream itself where no daemon has it open: a stream
// that would be refused has to be looked at all the same.
func ledgerChecks(ctx context.Context, w answerer) (api.Ledger, error) {
	switch {
	case w.url != "":
		return daemon(w.url).Ledger(ctx)
	case !holdsLedger(w.dir):
		return api.Ledger{}, noLedger(w.dir)
	}
	srv, err := embedded.Start(ctx, embedded.Config{Dir: w.dir})
	if holder, ok := holderOf(w.dir, err); ok {
		return holder.Ledger(ctx)
	}
	if err != nil {
		return api.Ledger{}, err
	}
	defer srv.Close()
	checks, err := stream.Checks(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		return api.Ledger{}, fmt.Errorf("check the ledger in %s: %w", w.dir, err)
	}
	log, err := stream.Open(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		return api.Ledger{Checks: checkRows(checks)}, nil
	}
	return ledgerReport(log)(ctx)
}
