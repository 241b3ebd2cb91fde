package watcher

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher/collector"
)

// checkMasks refuses masks that were meant for a kind that is watched and do not name it:
// all that they should remove would be sent. The names of kinds have capitals, and masks of
// another spelling apply to nothing.
func (w *Watcher) checkMasks(ctx context.Context, watched []collector.Resource) error {
	slips := w.maskSlips(watched)
	if len(slips) == 0 {
		return nil
	}
	served := w.servedKinds(ctx)
	slips = slices.DeleteFunc(slips, func(s slip) bool { return slices.Contains(served, s.kind) })
	if len(slips) == 0 {
		return nil
	}
	var all []string
	for _, s := range slips {
		all = append(all, s.String())
	}
	return &InputError{File: w.cfg.FilterConfigPath, Err: fmt.Errorf("%s", strings.Join(all, "; "))}
}

// slip is a mask of a kind that is not watched, and the watched one that was meant.
type slip struct {
	mask        int
	kind, meant string
}

func (s slip) String() string {
	return fmt.Sprintf("resourceMaskers[%d].kind: %q is not watched, so its field would be sent; did you mean %q?", s.mask, s.kind, s.meant)
}

// maskSlips are the masks whose kind is a watched one in other letters: small for capital
// ones, the plural for the singular or, where no kinds can come later, a typing error.
func (w *Watcher) maskSlips(watched []collector.Resource) (all []slip) {
	var kinds []string
	for _, r := range watched {
		kinds = append(kinds, r.Kind)
	}
	for i, m := range w.filter.ResourceMaskers {
		if slices.Contains(kinds, m.Kind) {
			continue
		}
		meant := ""
		if at := slices.IndexFunc(watched, func(r collector.Resource) bool {
			return strings.EqualFold(r.Kind, m.Kind) || strings.EqualFold(r.Name, m.Kind)
		}); at >= 0 {
			meant = watched[at].Kind
		} else if !w.custom() {
			meant = badinput.Nearest(m.Kind, kinds)
		}
		if meant != "" {
			all = append(all, slip{i, m.Kind, meant})
		}
	}
	return all
}

// custom reports whether kinds may be watched that are defined later.
func (w *Watcher) custom() bool {
	return len(w.filter.CRDResourceWhiteList) > 0 && !w.cfg.WatchResource.DisableCRD
}

// servedKinds are all kinds of the group-versions of the filter file, as far as the
// apiserver tells: a mask for one that is left out is no slip.
func (w *Watcher) servedKinds(ctx context.Context) (kinds []string) {
	d, err := collector.NewDiscovery(w.kube)
	if err != nil {
		return nil
	}
	defer d.Close()
	open := w.discoveryFilter()
	open.Exceptions, open.Specification = nil, nil
	open.GroupVersions = slices.Concat(open.GroupVersions, w.filter.CRDResourceWhiteList)
	served, _ := d.Resources(ctx, open)
	for _, r := range served {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}
