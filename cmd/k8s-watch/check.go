package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/discovery"
)

// checkLimit is how long the apiserver has to say what it serves.
const checkLimit = 10 * time.Second

const checkUsage = `Usage of k8s-watch check: say what k8s-watch would do with a configuration, and do
nothing of it. Only the apiserver is asked, for what it serves.

Exit code 0, also offline, 1 if filters, masks, selectors or names of resources have nothing to
apply to, 2 if k8s-watch would not start.
`

// check is the subcommand of that name.
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
	line("strategy", string(cfg.BCS.Strategy))
	line("cacheCheck", cacheCheck(cfg))
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	section("watches", watched(cfg, filter, p))
	section("leaves out", leftOut(filter))
	section("removes before sending", removed(filter))
	section("writes to", destinations(cfg))
	section("serves", append([]string{
		"health on " + net.JoinHostPort(cfg.Address, strconv.Itoa(int(cfg.Port))),
		"metrics on " + net.JoinHostPort(cfg.Address, strconv.Itoa(int(cfg.MetricPort))),
	}, served(cfg.ResourceWatcher)...))
	section("tells of changes", notified(cfg.ResourceWatcher))
	section("ignores, or takes in another way", warnings)
	section("has nothing to apply to", p.Useless)
	_, err := io.WriteString(out, badinput.Redact(b.String()))
	return err
}

// cacheCheck says what the comparison of the cache with the apiserver asks for.
func cacheCheck(cfg config.Config) string {
	c := cfg.CacheCheck
	if c.Period == 0 {
		return "off: what a watch loses stays wrong in storage"
	}
	large := "asks for the version only"
	if c.RelistLarge {
		large = "lists all again"
	}
	return fmt.Sprintf("each kind every %s: lists metadata in pages of 500; above %d objects %s", units.Duration(c.Period),
		c.MaxObjects, large)
}

// served says what the resource watcher answers, and to whom.
func served(c config.ResourceWatcher) []string {
	if !c.Enabled {
		return nil
	}
	s := c.Server
	who := "to whom the apiserver allows it"
	if s.Authentication == access.None {
		who = "to everybody on this machine"
	}
	return []string{"objects on " + net.JoinHostPort(s.Address, strconv.Itoa(int(s.Port))) + ", " + who}
}

// notified lists the subscriptions. Of a URL, which may hold a secret, only the host is shown.
func notified(c config.ResourceWatcher) (lines []string) {
	if !c.Enabled {
		return nil
	}
	for _, s := range c.Notify.Subscriptions {
		to := s.Target
		where := "Kafka " + strings.Join(to.Kafka.Brokers, ", ")
		if len(to.NATS.Servers) > 0 {
			where = "NATS " + strings.Join(to.NATS.Servers, ", ")
		} else if u, err := url.Parse(to.Webhook.URL); err == nil && to.Webhook.URL != "" {
			where = "a webhook at " + u.Host
		}
		lines = append(lines, s.Name+": "+s.Resource.String()+" to "+where)
	}
	return lines
}

func unknown(p watcher.Plan) string {
	if p.Unknown == nil {
		return ""
	}
	return fmt.Sprintf("(offline, what it serves is not known: %v)", p.Unknown)
}

// watched lists the kinds by group-version or, offline, what the filter file asks for.
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

func leftOut(f config.Filter) (lines []string) {
	all := func(kinds []string) string {
		if len(kinds) == 0 {
			return "every kind"
		}
		return strings.Join(kinds, ", ")
	}
	for _, e := range f.APIResourceException {
		lines = append(lines, e.GroupVersion+": "+all(e.ResourceKinds))
	}
	for _, e := range f.APIResourceSpecification {
		lines = append(lines, "everything but "+e.GroupVersion+": "+all(e.ResourceKinds))
	}
	if len(f.ResourceNamespaceFilters) > 0 {
		lines = append(lines, "objects in namespaces "+strings.Join(f.ResourceNamespaceFilters, ", "))
	}
	if len(f.ResourceNameFilters) > 0 {
		lines = append(lines, "objects named "+strings.Join(f.ResourceNameFilters, ", "))
	}
	return lines
}

func removed(f config.Filter) (lines []string) {
	if !f.KeepManagedFields {
		lines = append(lines, "metadata.managedFields")
	}
	for _, m := range f.ResourceMaskers {
		where := ""
		if m.Namespace != "" {
			where = " in namespace " + m.Namespace
		}
		path, _ := json.Marshal(m.Path) // so that ["a.b"] and ["a","b"] differ
		lines = append(lines, m.Kind+where+": "+string(path))
	}
	return lines
}

func destinations(cfg config.Config) (lines []string) {
	b := cfg.BCS
	if b.InsecureSkipVerify {
		defer func() {
			lines = append(lines, "certificates of storage, netservice and bcs-health are NOT verified (bcs.insecureSkipVerify)")
		}()
	}
	inZooKeeper := func(what, hosts, path string) {
		lines = append(lines, what+" found in ZooKeeper "+hosts+" below "+path)
	}
	for _, e := range b.CustomStorageEndpoints {
		lines = append(lines, "storage "+e)
	}
	if len(b.CustomStorageEndpoints) == 0 {
		inZooKeeper("storage", b.ZK, discovery.PathStorage)
	}
	if b.CustomStorageToken != "" || b.CustomStorageTokenFile != "" {
		lines = append(lines, "with a bearer token for storage")
	}
	for _, e := range cfg.Alertor.Alertmanager {
		lines = append(lines, "Alertmanager "+e)
	}
	if cfg.Alertor.BCSHealth {
		inZooKeeper("bcs-health", b.ZK, discovery.PathHealth)
	}
	if cfg.LeaderElection.Enabled {
		lines = append(lines, "the Lease "+cfg.LeaderElection.Namespace+"/"+cfg.LeaderElection.Name+" of the apiserver")
	}
	switch {
	case cfg.WatchResource.DisableNetService:
	case len(b.CustomNetServiceEndpoints) > 0:
		lines = append(lines, "storage also the IP pools read from netservice "+
			strings.Join(b.CustomNetServiceEndpoints, ", "))
	default:
		inZooKeeper("storage also the IP pools read from netservice,", b.NetServiceZooKeepers, discovery.PathNetService)
	}
	return lines
}
