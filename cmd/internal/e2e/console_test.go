package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// console is a running Java console consumer.
type console struct {
	t     *testing.T
	group string
	ended chan error
}

// startConsole starts a console consumer that ends by itself after n records.
func startConsole(t *testing.T, r *kafkatest.Real, group, topic string, n int) *console {
	t.Helper()
	c := &console{t: t, group: group, ended: make(chan error, 1)}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	go func() {
		defer close(c.ended)
		_, err := r.Tool(ctx, kafkatest.ConsoleConsumer, "--bootstrap-server", r.Addrs()[0], "--topic", topic, "--group", group,
			"--from-beginning", "--max-messages", fmt.Sprint(n), "--consumer-property", "client.id=java-app")
		c.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		for range c.ended { // closed at the end
		}
	})
	return c
}

// awaitMember waits until the daemon shows the consumer as a member of its group.
func (c *console) awaitMember(d *daemon) {
	c.t.Helper()
	d.until("the Java consumer is shown as a member", func() bool {
		g, err := d.Group(c.t.Context(), api.Query{Group: &c.group})
		return err == nil && g.State == "Stable" && g.Type == "classic" &&
			len(g.MemberRows) == 1 && g.MemberRows[0].ClientID == "java-app" && g.MemberRows[0].Host == "/127.0.0.1"
	})
}

// wait waits until the consumer has read what it wanted, committed and left.
func (c *console) wait() {
	c.t.Helper()
	select {
	case err := <-c.ended:
		require.NoError(c.t, err)
	case <-time.After(patience):
		require.Fail(c.t, "the console consumer does not end")
	}
}
