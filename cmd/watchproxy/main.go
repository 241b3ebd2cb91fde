// Command watchproxy stands between a watcher and an apiserver and makes lists and
// watches fail on demand; see packages watchproxy and watchfault.
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
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it returns the exit code. A signal is the normal end.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return commandline.Run(ctx, command(stdout, stderr), args)
}
