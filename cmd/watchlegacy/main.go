// Command watchlegacy imitates bcs-k8s-watch, faults included, where its binary is not at hand: the
// "before" of the published tables, and a watcher that the checks must find fault with. It reads a
// configuration of k8s-watch; package legacy says what it imitates. Scenarios run it for
//
//	watcher: {profile: legacy}
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/legacy"
)

const usage = `watchlegacy -f config.json copies the objects of a Kubernetes cluster into bcs-storage by the
rules of bcs-k8s-watch, faults included, for comparison only.

`

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0, 1 for an error, 2 for bad input.
func run(args []string) int {
	var f config.Flags
	fs := f.Set("watchlegacy")
	fs.Usage = func() { fmt.Print(usage, fs.FlagUsages()) }
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		return fail(2, badinput.ExplainFlag(fs, err))
	}
	cfg, filter, _, err := f.Load(fs)
	if err != nil {
		return fail(2, err)
	}
	kube, err := clientcmd.BuildConfigFromFlags(cfg.K8s.Master, cfg.K8s.Kubeconfig)
	if err != nil {
		return fail(2, err)
	}
	kube.QPS, kube.UserAgent = -1, "watchlegacy"
	log := watcher.NewLogger(os.Stderr, cfg.Verbosity)
	watcher.Tune(log)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	w, err := legacy.New(cfg, filter, watcher.Settings{Logger: log, Kube: kube})
	if err != nil {
		return fail(2, err)
	}
	if err := w.Run(ctx); err != nil {
		return fail(1, err)
	}
	return 0
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "watchlegacy:", err)
	return code
}
