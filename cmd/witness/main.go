// Command witness records every event of chosen kinds, straight from an apiserver, in the
// form of an op log. See package loadgen/witness for what a record promises.
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
	os.Exit(commandline.Run(ctx, command(os.Stdout, os.Stderr), os.Args[1:]))
}
