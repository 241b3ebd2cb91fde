package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// maxDiscovery bounds a discovery answer. A cluster with a thousand CRDs answers about 2 MiB.
const maxDiscovery = 64 << 20

// acceptDiscovery asks for all groups in one answer, or else for their names.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + acceptJSON

// DiscoveryError says that the resources of some group-versions could not be
// learned. What the others offer was returned beside it.
type DiscoveryError struct {
	Broken map[string]error // by group/version
}

func (e *DiscoveryError) Error() string {
	parts := make([]string, 0, len(e.Broken))
	for _, gv := range slices.Sorted(maps.Keys(e.Broken)) {
		parts = append(parts, fmt.Sprintf("%s: %v", gv, e.Broken[gv]))
	}
	return "discovery is incomplete: " + strings.Join(parts, "; ")
}

// Unwrap returns the errors of the groups.
func (e *DiscoveryError) Unwrap() []error { return slices.Collect(maps.Values(e.Broken)) }

// errStale is the apiserver's own word on a group it cannot reach.
var errStale = errors.New("the apiserver has no current answer of the group's server")

// Discovery asks an apiserver what it serves. client-go's discovery client links every API type into the program: 9 MiB
// of resident memory (measured with v0.36.3).
type Discovery struct{ conn *connection }

// NewDiscovery makes a client. Nothing is requested yet.
func NewDiscovery(cfg *rest.Config) (*Discovery, error) {
	m, err := newMetrics(nil) // its bytes are not counted
	if err != nil {
		return nil, err
	}
	conn, err := connect(cfg, Config{}, m)
	if err != nil {
		return nil, err
	}
	return &Discovery{conn}, nil
}

// APIGroup is a group with its versions, the preferred one first. The core group has no name.
type APIGroup struct {
	Name     string
	Versions []APIVersion
}

// GV is the group-version of one of its versions.
func (g APIGroup) GV(v APIVersion) string {
	return schema.GroupVersion{Group: g.Name, Version: v.Name}.String()
}

// APIVersion lists the resources of one version of a group, without subresources.
type APIVersion struct {
	Name      string
	Resources []APIResource
	Err       error // why Resources is not known, or not current
}

// Served are the resources of all versions.
func Served(groups []APIGroup) (all []APIResource) {
	for _, g := range groups {
		for _, v := range g.Versions {
			all = append(all, v.Resources...)
		}
	}
	return all
}

// APIResource is a resource as discovery describes it.
type APIResource struct {
	Resource
	Singular                      string
	ShortNames, Categories, Verbs []string
}

// ServerVersion returns the release of the apiserver, such as v1.36.3.
func (d *Discovery) ServerVersion(ctx context.Context) (string, error) {
	var answer struct{ GitVersion string }
	if err := d.get(ctx, "/version", acceptJSON, &answer); err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	return answer.GitVersion, nil
}

// GroupsOf returns what is served; what other group-versions than the wanted ones have may be left out. A
// version that cannot be learned says so by its Err; the error means that nothing could be learned.
func (d *Discovery) GroupsOf(ctx context.Context, wanted func(gv string) bool) (groups []APIGroup, err error) {
	for _, root := range []string{"/api", "/apis"} {
		found, err := d.groups(ctx, root, wanted)
		if err != nil {
			return nil, fmt.Errorf("discover %s: %w", root, err)
		}
		groups = append(groups, found...)
	}
	return groups, nil
}

// Resources returns the resources that the filter lets through, sorted, with key kinds, each in the version that the
// cluster prefers among those of the white list. If some groups could not be read, a *DiscoveryError comes with them.
func (f DiscoveryFilter) Resources(groups []APIGroup) ([]Resource, error) {
	broken := map[string]error{}
	var all []Resource
	for _, g := range groups {
		taken := map[string]bool{}
		for _, v := range g.Versions {
			if !f.WantsVersion(g.GV(v)) {
				continue
			}
			if v.Err != nil {
				broken[g.GV(v)] = v.Err
				// Which version is preferred for a resource is not known below this one.
				break
			}
			for _, r := range v.Resources {
				if taken[r.Name] || unwatchable(r) {
					continue
				}
				taken[r.Name] = true
				r.LabelSelector = f.LabelSelectors[r.Kind]
				if f.wants(r.Resource) {
					all = append(all, r.Resource)
				}
			}
		}
	}
	all = AssignKeyKinds(all, f.GroupVersions)
	if len(broken) > 0 {
		return all, &DiscoveryError{broken}
	}
	return all, nil
}

// groups reads one of the two roots, in the aggregated form if the server has it.
func (d *Discovery) groups(ctx context.Context, root string, wanted func(gv string) bool) ([]APIGroup, error) {
	var answer struct {
		Kind  string
		Items []aggregatedGroup // aggregated
		// The older forms of /api and of /apis.
		Versions []string
		Groups   []metav1.APIGroup
	}
	if err := d.get(ctx, root, acceptDiscovery, &answer); err != nil {
		return nil, err
	}
	switch answer.Kind {
	case "APIGroupDiscoveryList":
		groups := make([]APIGroup, 0, len(answer.Items))
		for _, g := range answer.Items {
			groups = append(groups, g.group())
		}
		return groups, nil
	case "APIVersions":
		g := APIGroup{}
		for _, v := range answer.Versions {
			g.Versions = append(g.Versions, d.version(ctx, root, Resource{Version: v}, wanted))
		}
		return []APIGroup{g}, nil
	case "APIGroupList":
		var groups []APIGroup
		for _, in := range answer.Groups {
			g := APIGroup{Name: in.Name}
			names := []string{in.PreferredVersion.Version}
			for _, v := range in.Versions {
				if v.Version != in.PreferredVersion.Version {
					names = append(names, v.Version)
				}
			}
			for _, v := range names {
				g.Versions = append(g.Versions, d.version(ctx, root, Resource{Group: in.Name, Version: v}, wanted))
			}
			groups = append(groups, g)
		}
		return groups, nil
	}
	return nil, fmt.Errorf("the answer is a %q, want an APIGroupDiscoveryList, APIGroupList or APIVersions", answer.Kind)
}

// aggregatedGroup is an item of apidiscovery.k8s.io APIGroupDiscoveryList.
type aggregatedGroup struct {
	Metadata struct{ Name string }
	Versions []struct {
		Version   string
		Freshness string
		Resources []struct {
			Resource                      string
			ResponseKind                  *struct{ Kind string }
			Scope                         string
			SingularResource              string
			ShortNames, Categories, Verbs []string
		}
	}
}

func (in aggregatedGroup) group() APIGroup {
	g := APIGroup{Name: in.Metadata.Name}
	for _, v := range in.Versions {
		out := APIVersion{Name: v.Version}
		if v.Freshness == "Stale" {
			out.Err = errStale
		}
		for _, r := range v.Resources {
			if r.ResponseKind == nil {
				continue // only subresources
			}
			out.Resources = append(out.Resources, APIResource{
				Resource: Resource{Group: g.Name, Version: v.Version, Name: r.Resource, Kind: r.ResponseKind.Kind,
					Namespaced: r.Scope == "Namespaced"},
				Singular: r.SingularResource, ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
			})
		}
		g.Versions = append(g.Versions, out)
	}
	return g
}

// version reads one group-version, that of gv, in the older form, if it is wanted.
func (d *Discovery) version(ctx context.Context, root string, gv Resource, wanted func(gv string) bool) APIVersion {
	v := APIVersion{Name: gv.Version}
	if !wanted(gv.GroupVersion()) {
		return v
	}
	var answer metav1.APIResourceList
	if v.Err = d.get(ctx, root+"/"+gv.GroupVersion(), acceptJSON, &answer); v.Err != nil {
		return v
	}
	for _, r := range answer.APIResources {
		if !strings.Contains(r.Name, "/") {
			v.Resources = append(v.Resources, APIResource{
				Resource: Resource{Group: gv.Group, Version: gv.Version, Name: r.Name, Kind: r.Kind, Namespaced: r.Namespaced},
				Singular: r.SingularName, ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
			})
		}
	}
	return v
}

func (d *Discovery) get(ctx context.Context, path, accept string, into any) error {
	ctx, guard := guardIdle(ctx, DefaultListIdle)
	defer guard.close()
	resp, err := d.conn.get(ctx, path, nil, accept)
	if err != nil {
		return cause(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return answerError(resp, Resource{})
	}
	text, err := io.ReadAll(io.LimitReader(&guardedReader{resp.Body, guard, nil}, maxDiscovery))
	if err != nil {
		return cause(ctx, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer of %s is not what an apiserver sends: %w", path, err)
	}
	return nil
}

// Close ends the connections that are kept for the next question.
func (d *Discovery) Close() { d.conn.closeIdle() }
