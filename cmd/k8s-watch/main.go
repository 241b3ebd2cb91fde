// Command k8s-watch copies the objects of a Kubernetes cluster into bcs-storage.
// It reads the configuration of bcs-k8s-watch and can take its place. "k8s-watch check"
// reports what it would do with one; "k8s-watch audit" compares storage with the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/watchbench/watchbench/internal/badinput"
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

const mainUsage = `k8s-watch -f config.json copies the objects of a Kubernetes cluster into bcs-storage.
k8s-watch check -f config.json reports what it would do; k8s-watch rbac -f config.json
prints the rights that it needs; k8s-watch audit -f config.json lists the storage rows that
differ from the cluster.

Exit codes: 0 clean exit, 1 error, also a lost lease, 2 usage or bad input.

`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "rbac":
			return rbac(args[1:])
		case "check":
			return check(args[1:], os.Stdout)
		case "audit":
			return audit(args[1:], os.Stdout)
		}
		if near := badinput.Nearest(args[0], []string{"rbac", "check", "audit"}); near != "" {
			return fail(exitBadInput, fmt.Errorf("unknown command %q: did you mean %s?", args[0], near))
		}
	}
	var f config.Flags
	fs := f.Set("k8s-watch")
	fs.Usage = func() { fmt.Print(mainUsage, fs.FlagUsages()) }
	showVersion := fs.Bool("version", false, "print the version and exit")
	if err := fs.Parse(args); err != nil {
		return misused(fs, err)
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

	hangup := make(chan os.Signal, 1) // one token says "read it again"; more would say the same
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)

	watcher.Tune(log)
	w, err := watcher.New(cfg, filter, watcher.Settings{Logger: log})
	if err == nil {
		err = runReloading(ctx, w, hangup, func() (config.Config, config.Filter, error) {
			cfg, filter, warnings, err := f.Load(fs)
			for _, w := range warnings {
				log.Warn(w)
			}
			return cfg, filter, err
		})
	}
	if err == nil {
		return exitOK
	}
	var input *watcher.InputError
	if errors.As(err, &input) {
		return fail(exitBadInput, input.In(f.File))
	}
	return fail(exitError, err)
}

// runReloading runs the watcher and has it read its configuration again at each signal.
func runReloading(ctx context.Context, w *watcher.Watcher, signals <-chan os.Signal,
	read func() (config.Config, config.Filter, error)) error {
	var reloading sync.WaitGroup
	ended := make(chan struct{})
	reloading.Go(func() {
		for {
			select {
			case <-signals:
				_ = w.Reload(read) // it is logged and counted there
			case <-ended:
				return
			}
		}
	})
	err := w.Run(ctx)
	close(ended)
	reloading.Wait()
	return err
}

// misused is the exit code for flags that cannot be parsed, or ask for help.
func misused(fs *pflag.FlagSet, err error) int {
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	return fail(exitBadInput, badinput.ExplainFlag(fs, err))
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "k8s-watch:", badinput.Redact(err.Error()))
	return code
}
