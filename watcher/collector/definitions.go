package collector

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Definitions is the resource of which a Follower takes the events.
var Definitions = Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition",
}

// Definition is a CustomResourceDefinition, with the names that the apiserver has accepted.
type Definition struct {
	Resource    Resource // without a version
	Established bool
	Versions    []DefinedVersion
}

// DefinedVersion is a version of a Definition.
type DefinedVersion struct {
	Name            string
	Served, Storage bool
}

// ReadDefinition takes the JSON of a CustomResourceDefinition.
func ReadDefinition(raw []byte) (Definition, error) {
	type names struct{ Plural, Kind string }
	var in struct {
		Spec struct {
			Group, Scope string
			Names        names
			Versions     []DefinedVersion
		}
		Status struct {
			Conditions    []struct{ Type, Status string }
			AcceptedNames names
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Definition{}, fmt.Errorf("read definition: %w", err)
	}
	n := in.Status.AcceptedNames
	d := Definition{Versions: in.Spec.Versions}
	d.Resource = Resource{
		Group: in.Spec.Group, Name: cmp.Or(n.Plural, in.Spec.Names.Plural), Kind: cmp.Or(n.Kind, in.Spec.Names.Kind),
		Namespaced: in.Spec.Scope == "Namespaced",
	}
	for _, c := range in.Status.Conditions {
		d.Established = d.Established || c.Type == "Established" && c.Status == "True"
	}
	return d, nil
}

// definer takes the custom resources.
type definer interface {
	Define(map[string]*Resource)
	Undefine(name string)
}

var _ definer = (*Kinds)(nil)

// FollowerConfig configures a Follower.
type FollowerConfig struct {
	WhiteList      []string          // group/version
	Namespaced     bool              // leave cluster-scoped kinds out
	LabelSelectors map[string]string // by kind
	// All are the definitions that there are. At the first event they are taken at once, so
	// that the kinds under which theirs are stored do not depend on their order. Nil: none.
	All    func() []*object.Object
	Logger *slog.Logger
}

// Follower is the CRDWatcher: a Sink of CustomResourceDefinitions that says which custom resources are to be collected:
// those that are established with a storage version, as group/version, in the white list (contract §4).
type Follower struct {
	cfg    FollowerConfig
	to     definer
	primed bool
}

var _ Sink = (*Follower)(nil)

// NewFollower makes a Follower that reports to to.
func NewFollower(cfg FollowerConfig, to definer) *Follower { return &Follower{cfg: cfg, to: to} }

// Enqueue implements Sink. A definition that cannot be used is logged and left out; it never holds the others back.
func (f *Follower) Enqueue(_ context.Context, e pipeline.Event) error {
	if e.Action == pipeline.Delete {
		f.to.Undefine(e.Key.Name)
		return nil
	}
	changes := map[string]*Resource{}
	if !f.primed && f.cfg.All != nil {
		for _, o := range f.cfg.All() {
			changes[o.Key.Name] = f.resource(o)
		}
	}
	f.primed = true
	changes[e.Key.Name] = f.resource(e.Object)
	f.to.Define(changes)
	return nil
}

// resource returns what to collect for a definition, nil for none.
func (f *Follower) resource(o *object.Object) *Resource {
	r, err := f.wanted(o.JSON())
	if err != nil {
		f.cfg.Logger.Warn("CustomResourceDefinition ignored", "name", o.Key.Name, "error", err)
		return nil
	}
	return r
}

// wanted is the resource to collect for a definition, nil for none.
func (f *Follower) wanted(raw []byte) (*Resource, error) {
	d, err := ReadDefinition(raw)
	if err != nil {
		return nil, err
	}
	r := d.Resource
	i := slices.IndexFunc(d.Versions, func(v DefinedVersion) bool {
		return v.Storage && slices.Contains(f.cfg.WhiteList, r.Group+"/"+v.Name)
	})
	if !d.Established || i < 0 || !d.Versions[i].Served || f.cfg.Namespaced && !r.Namespaced {
		return nil, nil
	}
	r.Version, r.LabelSelector = d.Versions[i].Name, f.cfg.LabelSelectors[r.Kind]
	return &r, r.Validate()
}
