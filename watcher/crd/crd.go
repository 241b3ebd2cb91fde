// Package crd is the CRDWatcher: it follows the cluster's CustomResourceDefinitions
// and says which custom resources of the white list are to be collected.
//
// A definition is followed when it is established and its storage version, as
// group/version, is in the white list (contract §4).
package crd

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Definitions is the resource that a Watcher is to be the Sink of.
var Definitions = collector.Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition",
}

// Kinds is told of the custom resources.
type Kinds interface {
	// Define takes the resources of some definitions, by the definitions' names; nil is none.
	Define(map[string]*collector.Resource)
	// Undefine takes the name of a definition that is gone.
	Undefine(name string)
}

// Config of a Watcher.
type Config struct {
	WhiteList      []string          // group/version
	Namespaced     bool              // leave cluster-scoped kinds out
	LabelSelectors map[string]string // by kind
	// All are the definitions that there are. At the first event they are taken at once, so
	// that the kinds under which theirs are stored do not depend on their order. Nil: none.
	All    func() []*object.Object
	Logger *slog.Logger
}

// Watcher takes the events of definitions, as the Sink of a collector of its own, one after
// the other.
type Watcher struct {
	cfg    Config
	to     Kinds
	primed bool
}

// New makes a watcher that follows nothing yet.
func New(cfg Config, to Kinds) *Watcher { return &Watcher{cfg: cfg, to: to} }

// Enqueue implements collector.Sink. A definition that cannot be used is logged
// and left out; it never holds the others back.
func (w *Watcher) Enqueue(_ context.Context, e pipeline.Event) error {
	if e.Action == pipeline.Delete {
		w.to.Undefine(e.Key.Name)
		return nil
	}
	changes := map[string]*collector.Resource{}
	if !w.primed && w.cfg.All != nil {
		for _, o := range w.cfg.All() {
			changes[o.Key.Name] = w.resource(o)
		}
	}
	w.primed = true
	changes[e.Key.Name] = w.resource(e.Object)
	w.to.Define(changes)
	return nil
}

// resource is what to collect for a definition, nil for none.
func (w *Watcher) resource(o *object.Object) *collector.Resource {
	r, err := w.wanted(o.JSON())
	if err != nil {
		w.cfg.Logger.Warn("CustomResourceDefinition ignored", "name", o.Key.Name, "error", err)
		return nil
	}
	return r
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
