// Command churn sends the load that a plan file describes to an apiserver, and
// removes what it created. See package session for what it prints.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/watchbench/watchbench/internal/commandline"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal starts the cleanup; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	return commandline.Run(ctx, command(streams{in: stdin, out: stdout, err: stderr}), args)
}
