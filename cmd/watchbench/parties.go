package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/terminal"
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// parties are the processes that a run starts beside the watcher and the storage. They are commands of their own, not
// of the tree: what they cost is measured.
var parties = map[string]func(streams) *cobra.Command{
	"churn": churnCommand, "readers": readersCommand, "watchproxy": watchproxyCommand, "witness": witnessCommand,
	"pod": podCommand, "agent": agentCommand,
}

// runParty returns the exit code. The first signal begins the clean-up. No further one cuts it short, as the kernel
// sends one for each thread of a runner that was killed; nor does the end of the runner that reads what the party says.
func runParty(party func(streams) *cobra.Command, args []string, s streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)
	cmd := party(s)
	cmd.SetIn(s.in)
	terminal.Setup(cmd, s.out, s.err)
	return terminal.Run(ctx, cmd, args)
}
