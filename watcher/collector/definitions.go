package collector

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Definitions is the resource of which Kinds takes the events.
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

// Custom says which custom resources are to be collected (contract §4).
type Custom struct {
	WhiteList      []string          // group/version
	Namespaced     bool              // leave cluster-scoped kinds out
	LabelSelectors map[string]string // by kind
	// All are the definitions that there are. At the first event they are taken at once, so that the kinds under which
	// theirs are stored do not depend on their order. Nil: none.
	All func() []*object.Object
}

var _ Sink = (*Kinds)(nil)

// Enqueue makes Kinds the CRDWatcher, the Sink of a collector of CustomResourceDefinitions. One that cannot be used is
// logged and left out; it never holds the others back.
func (k *Kinds) Enqueue(_ context.Context, e pipeline.Event) error {
	if e.Action == pipeline.Delete {
		k.undefine(e.Key.Name)
		return nil
	}
	changes := map[string]*Resource{}
	if !k.primed && k.set.Custom.All != nil {
		for _, o := range k.set.Custom.All() {
			changes[o.Key.Name] = k.resource(o)
		}
	}
	k.primed = true
	changes[e.Key.Name] = k.resource(e.Object)
	k.define(changes)
	return nil
}

// resource returns what to collect for a definition, nil for none.
func (k *Kinds) resource(o *object.Object) *Resource {
	r, err := k.set.Custom.wanted(o.JSON())
	if err != nil {
		k.set.Logger.Warn("CustomResourceDefinition ignored", "name", o.Key.Name, "error", err)
		return nil
	}
	return r
}

// wanted is the resource to collect for a definition, nil for none: one that is established and whose storage version
// is in the white list.
func (c Custom) wanted(raw []byte) (*Resource, error) {
	d, err := ReadDefinition(raw)
	if err != nil {
		return nil, err
	}
	r := d.Resource
	i := slices.IndexFunc(d.Versions, func(v DefinedVersion) bool {
		return v.Storage && slices.Contains(c.WhiteList, r.Group+"/"+v.Name)
	})
	if !d.Established || i < 0 || !d.Versions[i].Served || c.Namespaced && !r.Namespaced {
		return nil, nil
	}
	r.Version, r.LabelSelector = d.Versions[i].Name, c.LabelSelectors[r.Kind]
	return &r, r.Validate()
}
