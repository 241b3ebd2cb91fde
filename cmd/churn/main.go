// Command churn sends the load that a plan file describes to an apiserver, and
// removes what it created. See package session for what it prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes, the same for all commands.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the cleaning up runs; a second one ends it by default.
	context.AfterFunc(ctx, stop)
	cmd := command(streams{in: stdin, out: stdout, err: stderr})
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "churn: interrupted:", err)
		return exitInterrupted
	case errors.As(err, &usage):
		_, _ = fmt.Fprintln(stderr, "churn:", err)
		return exitUsage
	default:
		_, _ = fmt.Fprintln(stderr, "churn:", err)
		return exitError
	}
}
