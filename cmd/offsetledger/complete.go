package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

// completionPatience is how long a shell waits for names at most.
const completionPatience = 300 * time.Millisecond

// completeGroups offers the names of groups to a shell. Only a daemon is asked, be it the one
// that has the directory open: opening a ledger for a tab key would take too long.
func (a *app) completeGroups(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	w, err := a.answerer(ctx)
	if err != nil {
		return nil, none
	}
	address, ok := w.url, true
	if address == "" {
		address, ok = announced(w.dir)
	}
	if !ok {
		return nil, none
	}
	groups, err := daemon(address).Groups(ctx, api.Query{Cluster: a.cluster})
	if err != nil {
		return nil, none
	}
	var names []cobra.Completion
	for _, g := range groups.Rows {
		if name := cell(g.Group); strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	return names, none
}
