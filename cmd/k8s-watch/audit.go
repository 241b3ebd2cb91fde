package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// Exit codes of an audit beside exitOK and exitBadInput.
const (
	exitDiffers    = 3
	exitIncomplete = 5
)

const auditUsage = `k8s-watch audit -f config.json [--format json]

Compares storage with the cluster, as a running k8s-watch does, and names every row that
differs. It writes nothing, needs the rights of the watcher, and may run beside it: a difference
counts if it is still there after --wait.

Exit codes: 0 equal, 3 rows differ, 5 not everything could be compared, 2 usage or bad input.

`

// audit is the command "k8s-watch audit".
func audit(args []string, out io.Writer) int {
	var f config.Flags
	fs := f.Set("k8s-watch audit")
	format := fs.String("format", "text", "text or json")
	wait := fs.Duration("wait", 30*time.Second, "how long a difference must last; more than changes take to storage")
	fs.Usage = func() { fmt.Print(auditUsage, fs.FlagUsages()) }
	if err := fs.Parse(args); err != nil {
		return misused(fs, err)
	}
	if *format != "text" && *format != "json" {
		return fail(exitBadInput, fmt.Errorf("--format %q: want text or json", *format))
	}
	cfg, filter, _, err := f.Load(fs)
	if err != nil {
		return fail(exitBadInput, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	log := watcher.NewLogger(os.Stderr, cfg.Verbosity)
	watcher.Tune(log)
	a, err := watcher.Audit(ctx, cfg, filter, *wait, log)
	if input, ok := errors.AsType[*watcher.InputError](err); ok {
		return fail(exitBadInput, input.In(f.File))
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted: the audit is not complete")
	}
	if err != nil {
		return fail(exitIncomplete, err)
	}
	text := auditText(a)
	if *format == "json" {
		data, _ := json.Marshal(a) // strings and numbers
		text = string(data)
	}
	if _, err := fmt.Fprintln(out, badinput.Redact(text)); err != nil {
		return fail(exitError, err)
	}
	switch {
	case len(a.Unread) > 0:
		return exitIncomplete
	case len(a.Differences) > 0:
		return exitDiffers
	}
	return exitOK
}

// auditText has a line for each difference and each kind that was not compared, and the counts.
func auditText(a synchronizer.Audited) string {
	var lines []string
	counts := map[synchronizer.Problem]int{}
	for _, d := range a.Differences {
		lines = append(lines, fmt.Sprintf("%s %s: %s", d.Kind, strings.TrimPrefix(d.Namespace+"/"+d.Name, "/"), d.Problem))
		counts[d.Problem]++
	}
	slices.Sort(lines)
	for _, of := range slices.Sorted(maps.Keys(a.Unread)) {
		lines = append(lines, fmt.Sprintf("%s: could not be compared: %s", of, a.Unread[of]))
	}
	sum := fmt.Sprintf("%d differences", len(a.Differences))
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		sum += fmt.Sprintf(", %d %s", counts[p], p)
	}
	if n := len(a.Unread); n > 0 {
		sum = fmt.Sprintf("incomplete, %d could not be compared: %s", n, sum)
	}
	lines = append(lines, fmt.Sprintf("%s, of %d objects of %d kinds", sum, a.Objects, a.Kinds))
	return strings.Join(lines, "\n")
}
