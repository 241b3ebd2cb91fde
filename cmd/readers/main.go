// Command readers reads from a Kubernetes-style endpoint as many programs would, and
// receives webhooks; see package loadgen/readers. With slow-clients it holds the
// connections of a server; see package loadgen/slowclients.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/watchbench/watchbench/internal/commandline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(commandline.Run(ctx, command(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
}
