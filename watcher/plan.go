package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Plan lists what a watcher would collect with a configuration.
type Plan struct {
	// Apiserver is its address; "" where it would be that of the cluster it runs in.
	Apiserver string
	// Unknown is why the apiserver could not be asked what it serves, or not all of it.
	Unknown error
	Kinds   []collector.Resource
	// Useless are entries of the files that have nothing to apply to, one sentence each.
	// What only the apiserver knows is left out while Unknown is set.
	Useless []string
}

// MakePlan checks a configuration as New and the start of Run do, and asks the apiserver what it serves.
// Nothing is watched or written, and storage is not asked anything.
func MakePlan(ctx context.Context, cfg config.Config, filter config.Filter) (p Plan, err error) {
	var s Settings
	outside := false
	if cfg.K8s.Kubeconfig == "" && cfg.K8s.Master == "" {
		_, err := rest.InClusterConfig()
		if outside = errors.Is(err, rest.ErrNotInCluster); outside {
			s.Kube = &rest.Config{Host: "localhost"} // New wants one, which is not asked
		}
	}
	w, err := New(cfg, filter, s)
	if err != nil {
		return Plan{}, err
	}
	if _, err := serverTLS(cfg, w.log); err != nil {
		return Plan{}, &InputError{Err: err}
	}
	if r := w.resources; r != nil {
		defer r.notifier.Close()
	}
	if err := checkAddress(ctx, cfg.Address); err != nil {
		return Plan{}, err
	}
	a := &advice{wanted: w.wanted}
	if outside {
		p.Unknown = errors.New("it is that of the cluster it will run in")
	} else {
		p.Apiserver = badinput.Redact(w.copying.served.host)
		err = a.ask(ctx, w.copying.served, &p)
	}
	p.Unknown = badinput.Redacted(p.Unknown)
	for _, entry := range a.walk().useless {
		p.Useless = append(p.Useless, badinput.Redact(entry))
	}
	return p, err
}

// ask lets a know what is served, if all of it can be learned.
func (a *advice) ask(ctx context.Context, s *served, p *Plan) error {
	found, broken, err := s.look(ctx)
	if p.Unknown = err; err != nil {
		return nil
	}
	p.Kinds = found
	groups, _ := s.last()
	if err := (&advice{wanted: a.wanted, groups: groups, watched: found}).checkMasks(); err != nil {
		return err
	}
	if len(broken) > 0 {
		p.Unknown = fmt.Errorf("no answer for the API groups %s", strings.Join(broken, ", "))
		return nil
	}
	a.groups, a.watched = groups, found
	if !a.cfg.ResourceWatcher.Enabled {
		return nil
	}
	for _, g := range groups {
		if i := slices.IndexFunc(g.Versions, func(v collector.APIVersion) bool { return v.Err != nil }); i >= 0 {
			p.Unknown = g.Versions[i].Err
			return nil
		}
	}
	p.Useless = unservedNames(a.cfg.ResourceWatcher, watches.CatalogueOf(a.cfg.ResourceWatcher.Watches, groups))
	return nil
}
