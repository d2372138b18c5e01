package main

import (
	"context"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// ledgerReport returns what the API says of the stream under a log.
func ledgerReport(log *stream.Log) func(context.Context) (api.Ledger, error) {
	return func(ctx context.Context) (api.Ledger, error) {
		checks, err := log.Checks(ctx)
		if err != nil {
			return api.Ledger{}, err
		}
		out := api.Ledger{Checks: checkRows(checks)}
		size, err := log.Size(ctx)
		if err != nil {
			return api.Ledger{}, err
		}
		out.Events, out.Bytes = size.Events, size.Bytes
		if size.Events > 0 {
			out.From, out.To = api.Time{Time: ledger.AtTime(size.From)}, api.Time{Time: ledger.AtTime(size.To)}
		}
		if perDay, ok := size.PerDay(); ok {
			out.BytesPerDay = &perDay
		}
		return out, nil
	}
}

func checkRows(checks []stream.Check) []api.Check {
	rows := make([]api.Check, len(checks))
	for i, c := range checks {
		rows[i] = api.Check{Name: c.Name, OK: c.OK, Advice: c.Advice, Detail: c.Detail, Mend: c.Mend}
	}
	return rows
}
