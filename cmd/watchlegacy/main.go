// Command watchlegacy imitates bcs-k8s-watch, faults included, where its binary is not at hand: the "before" of the
// published tables, and a watcher that the checks must find fault with. It reads a configuration of k8s-watch.
// Scenarios run it for
//
//	watcher: {profile: legacy}
//
// It was written from the contract alone (the paragraphs are named); none of the original's code is in it. What is
// re-created:
//
//  1. Per kind an eventQueue of keys: keys that wait are merged, and five workers read the object's state when the
//     key's turn comes. Present is a PUT, absent a DELETE (§2.1).
//  2. The workers put copies into handler queues: one per kind, or N for Pods and 4N for Events, chosen by the
//     original's hash. A put waits for room for one second; then the item is dropped, counted and forgotten (§2.5).
//     Nothing merges items in a handler queue, and nothing keeps a later state of the key back.
//  3. One goroutine per handler queue sends, strictly one item after the other.
//  4. A failed item of a kind whose name starts with "Event" is lost, and its handler rests until its next start. Any
//     other goes back as a key after 0 to 4999 ms, for ever, and is read from the cache again (§2.5).
//  5. Each request has a TCP connection of its own and five seconds for it. Status 400 and 500 are resent within the
//     call, four attempts one second apart; errors of the connection go on to the next endpoint, in random order; of an
//     answer only the field "result" counts (§1.2, §1.4).
//  6. The end of Run is at once: what is queued is lost (§8).
//
// Lists, watches, filters and masks are k8s-watch's collector, so memory and CPU say nothing about the original. Not
// re-created are its synchronizer, custom resources, a Pod's wait for its ReplicaSet, netservice, ZooKeeper, tokens,
// TLS towards storage, and the Writer queue, which only the original's synchronizer uses.
//
// Events are accounted as in package pipeline, so that G6 and G14 can be judged: coalesced are merges in the
// eventQueue; dropped are full queues, lost Events and the end of Run.
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
	if len(cfg.BCS.CustomStorageEndpoints) == 0 || cfg.LeaderElection.Enabled || cfg.ResourceWatcher.Enabled {
		return fail(2, errors.New("it needs bcs.custom-storage-endpoints, and has no leaderElection and resourceWatcher"))
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
	if err := imitate(ctx, cfg, filter, kube, log); err != nil {
		return fail(1, err)
	}
	return 0
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "watchlegacy:", err)
	return code
}
