package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
)

// checkLimit is how long the apiserver has to say what it serves.
const checkLimit = 10 * time.Second

const checkUsage = `Usage of k8s-watch check: report which kinds k8s-watch would copy with a configuration, and
which keys and entries have no effect. It asks nothing but the apiserver, for what it serves.

Exit code 0 (offline too), 1 if filters, masks or selectors have nothing to apply to, 2 if
k8s-watch would not start.
`

func check(args []string, out io.Writer) int {
	var f config.Flags
	fs := f.Set("k8s-watch check")
	fs.Usage = func() { fmt.Print(checkUsage, "\n", fs.FlagUsages()) }
	if err := fs.Parse(args); err != nil {
		return misused(fs, err)
	}
	cfg, filter, warnings, err := f.Load(fs)
	if err != nil {
		return fail(exitBadInput, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkLimit)
	defer cancel()
	plan, err := watcher.MakePlan(ctx, cfg, filter)
	var input *watcher.InputError
	if errors.As(err, &input) {
		return fail(exitBadInput, input.In(f.File))
	} else if err != nil {
		return fail(exitBadInput, fmt.Errorf("%s: %w", f.File, err))
	}
	if err := printPlan(out, f.File, cfg, filter, plan, warnings); err != nil {
		return fail(exitError, err)
	}
	if len(plan.Useless) > 0 {
		return exitError
	}
	return exitOK
}

func printPlan(out io.Writer, file string, cfg config.Config, filter config.Filter, p watcher.Plan,
	warnings []string) error {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%-14s %s\n", key, value) }
	line("configuration", file)
	line("filter", cfg.FilterConfigPath)
	line("cluster", cfg.Default.ClusterID)
	line("apiserver", strings.TrimSpace(p.Apiserver+" "+unknown(p)))
	line("storage", cmp.Or(strings.Join(cfg.BCS.CustomStorageEndpoints, ", "), "found in ZooKeeper "+cfg.BCS.ZK))
	line("strategy", string(cfg.BCS.Strategy))
	if cfg.Shards > 1 {
		line("shards", fmt.Sprintf("%d, by %s", cfg.Shards, cfg.ShardBy))
	}
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	section("watches", watched(cfg, filter, p))
	section("ignores, or takes in another way", warnings)
	section("has nothing to apply to", p.Useless)
	_, err := io.WriteString(out, badinput.Redact(b.String()))
	return err
}

func unknown(p watcher.Plan) string {
	if p.Unknown == nil {
		return ""
	}
	return fmt.Sprintf("(offline, what it serves is not known: %v)", p.Unknown)
}

func watched(cfg config.Config, filter config.Filter, p watcher.Plan) (lines []string) {
	kinds := map[string][]string{}
	for _, r := range p.Kinds {
		name := r.Kind
		if r.Key() != r.Kind {
			name += " (stored as " + r.Key() + ")"
		}
		kinds[r.GroupVersion()] = append(kinds[r.GroupVersion()], name)
	}
	for _, gv := range slices.Sorted(maps.Keys(kinds)) {
		lines = append(lines, gv+": "+strings.Join(kinds[gv], ", "))
	}
	if p.Unknown != nil {
		for _, gv := range filter.K8sResourceWhiteList {
			if gv != "" && strings.Count(gv, "/") < 2 && kinds[gv] == nil {
				lines = append(lines, gv+": whatever the apiserver serves of it")
			}
		}
	}
	if !cfg.WatchResource.DisableCRD {
		for _, gv := range filter.CRDResourceWhiteList {
			if strings.Contains(gv, "/") {
				lines = append(lines, gv+": custom resources, while they are defined")
			}
		}
	}
	if ns := cfg.WatchResource.Namespace; ns != "" {
		lines = append(lines, "only the namespace "+ns)
	}
	for _, kind := range slices.Sorted(maps.Keys(cfg.WatchResource.LabelSelectors)) {
		lines = append(lines, "only "+kind+" with "+cfg.WatchResource.LabelSelectors[kind])
	}
	return lines
}
