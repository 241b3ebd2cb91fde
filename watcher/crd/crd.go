// Package crd is the CRDWatcher: it follows the cluster's CustomResourceDefinitions
// and adds the custom resources of the white list to what is collected, changes
// their version, and removes them.
//
// A definition is followed when it is established and its storage version, as
// group/version, is in the white list (contract §4). Each change touches only the
// watch of that one kind.
package crd

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Definitions is the resource that a Watcher is to be the Sink of.
var Definitions = collector.Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition",
}

// Collection is what collects the custom resources.
type Collection interface {
	Resources() []collector.Resource
	AddResource(collector.Resource) error
	RemoveResource(key string) error
}

// Config of a Watcher.
type Config struct {
	WhiteList      []string          // group/version
	Namespaced     bool              // leave cluster-scoped kinds out
	LabelSelectors map[string]string // by kind
	// Added is called with the key of a kind that is collected from now on, Removed
	// with one that no longer is; nil calls nobody. A change of the version calls Added only.
	Added, Removed func(key string)
	Logger         *slog.Logger
}

// Watcher takes the events of definitions, as the Sink of a collector of its own.
type Watcher struct {
	cfg Config
	to  Collection

	// mu guards followed: what was added for each definition, by its name.
	mu       sync.Mutex
	followed map[string]collector.Resource
}

// New makes a watcher that follows nothing yet.
func New(cfg Config, to Collection) *Watcher {
	return &Watcher{cfg: cfg, to: to, followed: map[string]collector.Resource{}}
}

// Enqueue implements collector.Sink. A definition that cannot be used is logged
// and left out; it never holds the others back.
func (w *Watcher) Enqueue(_ context.Context, e pipeline.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var want *collector.Resource
	if e.Action == pipeline.Put {
		var err error
		if want, err = w.wanted(e.Object.JSON()); err != nil {
			w.cfg.Logger.Warn("CustomResourceDefinition ignored", "name", e.Key.Name, "error", err)
		}
	}
	if err := w.follow(e.Key.Name, want); err != nil {
		w.cfg.Logger.Error("following a CustomResourceDefinition", "name", e.Key.Name, "error", err)
	}
	return nil
}

// follow brings the collection from what was followed for a definition to want.
func (w *Watcher) follow(definition string, want *collector.Resource) error {
	have, followed := w.followed[definition]
	if want != nil && followed {
		want.KeyKind = have.KeyKind
		if have == *want {
			return nil
		}
	}
	if followed {
		delete(w.followed, definition)
		if err := w.to.RemoveResource(have.Key()); err != nil {
			return err
		}
		w.cfg.Logger.Info("custom resource no longer watched", "resource", have)
		if want == nil && w.cfg.Removed != nil {
			w.cfg.Removed(have.Key())
		}
	}
	if want == nil {
		return nil
	}
	if !followed {
		want.KeyKind = w.keyKind(*want)
	}
	if err := w.to.AddResource(*want); err != nil {
		return err
	}
	w.followed[definition] = *want
	if w.cfg.Added != nil {
		w.cfg.Added(want.Key())
	}
	w.cfg.Logger.Info("custom resource watched", "resource", *want)
	return nil
}

// keyKind is the kind itself while no other group's is stored under it, by the
// rule of collector.AssignKeyKinds.
func (w *Watcher) keyKind(r collector.Resource) string {
	taken := slices.ContainsFunc(w.to.Resources(), func(o collector.Resource) bool {
		return o.Key() == r.Kind
	})
	if taken {
		return r.Kind + "." + r.Group
	}
	return ""
}

type definition struct {
	Spec struct {
		Group    string
		Scope    string
		Names    struct{ Plural, Kind string }
		Versions []struct {
			Name            string
			Served, Storage bool
		}
	}
	Status struct {
		Conditions []struct{ Type, Status string }
	}
}

// wanted is the resource to collect for a definition, nil for none.
func (w *Watcher) wanted(raw []byte) (*collector.Resource, error) {
	var d definition
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	if !slices.ContainsFunc(d.Status.Conditions, func(c struct{ Type, Status string }) bool {
		return c.Type == "Established" && c.Status == "True"
	}) {
		return nil, nil
	}
	for _, v := range d.Spec.Versions {
		if !v.Storage || !slices.Contains(w.cfg.WhiteList, d.Spec.Group+"/"+v.Name) {
			continue
		}
		if !v.Served || w.cfg.Namespaced && d.Spec.Scope != "Namespaced" {
			return nil, nil
		}
		r := &collector.Resource{
			Group: d.Spec.Group, Version: v.Name, Name: d.Spec.Names.Plural, Kind: d.Spec.Names.Kind,
			Namespaced: d.Spec.Scope == "Namespaced", LabelSelector: w.cfg.LabelSelectors[d.Spec.Names.Kind],
		}
		return r, r.Validate()
	}
	return nil, nil
}

var _ collector.Sink = (*Watcher)(nil)
