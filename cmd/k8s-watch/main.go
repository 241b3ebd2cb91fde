// Command k8s-watch copies the objects of a Kubernetes cluster into bcs-storage.
// It reads the configuration of bcs-k8s-watch and can take its place.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
)

// Exit codes, the same for every command of this module.
const (
	exitOK       = 0
	exitError    = 1
	exitBadInput = 2
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var f config.Flags
	fs := f.Set("k8s-watch")
	showVersion := fs.Bool("version", false, "print the version and exit")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return exitOK
		}
		return fail(exitBadInput, err)
	}
	if *showVersion {
		fmt.Println("k8s-watch", version.Version)
		return exitOK
	}
	cfg, filter, warnings, err := f.Load(fs)
	if err != nil {
		return fail(exitBadInput, err)
	}
	log := watcher.NewLogger(os.Stderr, cfg.Verbosity)
	for _, w := range warnings {
		log.Warn(w)
	}

	// The first signal drains, the second ends at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	context.AfterFunc(ctx, stop)

	watcher.Tune()
	w, err := watcher.New(cfg, filter, watcher.Settings{Logger: log})
	if err == nil {
		err = w.Run(ctx)
	}
	if err == nil {
		return exitOK
	}
	var input *watcher.InputError
	if errors.As(err, &input) {
		return fail(exitBadInput, fmt.Errorf("%s: %w", f.File, input))
	}
	return fail(exitError, err)
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "k8s-watch:", err)
	return code
}
