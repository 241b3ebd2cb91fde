package apisim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/watchbench/watchbench/loadgen/apistatus"
)

// serverVersion is the answer to /version, of the release whose behaviour this is.
var serverVersion = apiversion.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3-apisim", Platform: "linux/amd64"}

type object = map[string]any

func writeJSON(w http.ResponseWriter, contentType string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		apistatus.Write(w, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(append(text, '\n'))
}

// discover answers /api, /apis and what is below them down to a group-version.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) {
	if r.Method != http.MethodGet {
		notFound(w)
		return
	}
	s.mu.Lock()
	groups := inGroups(s.resources())
	s.mu.Unlock()
	core := parts[0] == "api"
	groups = slices.DeleteFunc(groups, func(g apiGroup) bool { return (g.name == "") != core })
	switch {
	case len(parts) == 1:
		s.roots(w, r, core, groups)
	case core:
		groupResources(w, groups, "", parts[1])
	case len(parts) == 2:
		i := slices.IndexFunc(groups, func(g apiGroup) bool { return g.name == parts[1] })
		if i < 0 {
			notFound(w)
			return
		}
		g := groups[i].plain()
		g["kind"], g["apiVersion"] = "APIGroup", "v1"
		writeJSON(w, apistatus.ContentType, g)
	default:
		groupResources(w, groups, parts[1], parts[2])
	}
}

func (s *Server) roots(w http.ResponseWriter, r *http.Request, core bool, groups []apiGroup) {
	if form := aggregatedForm(r); form != "" && !s.config.PlainDiscovery {
		items := make([]object, 0, len(groups))
		for _, g := range groups {
			items = append(items, g.aggregated())
		}
		writeJSON(w, apistatus.ContentType+";g=apidiscovery.k8s.io;v="+form+";as=APIGroupDiscoveryList",
			object{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/" + form, "metadata": object{}, "items": items})
		return
	}
	if core {
		versions := []string{}
		for _, g := range groups {
			versions = g.versions
		}
		writeJSON(w, apistatus.ContentType, object{"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": []object{}})
		return
	}
	list := make([]object, 0, len(groups))
	for _, g := range groups {
		list = append(list, g.plain())
	}
	writeJSON(w, apistatus.ContentType, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": list})
}

// aggregatedForm is the version of the aggregated discovery that the client likes
// best, empty if it wants none.
func aggregatedForm(r *http.Request) string {
	for _, one := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if !strings.Contains(one, "as=APIGroupDiscoveryList") || !strings.Contains(one, "g=apidiscovery.k8s.io") {
			continue
		}
		for _, param := range strings.Split(one, ";") {
			if v, ok := strings.CutPrefix(strings.TrimSpace(param), "v="); ok && (v == "v2" || v == "v2beta1") {
				return v
			}
		}
	}
	return ""
}

// apiGroup is a group with its versions, the preferred one first.
type apiGroup struct {
	name      string
	versions  []string
	resources []Resource
}

// inGroups expects the resources in the order of their groups.
func inGroups(resources []Resource) []apiGroup {
	var groups []apiGroup
	for _, r := range resources {
		if len(groups) == 0 || groups[len(groups)-1].name != r.Group {
			groups = append(groups, apiGroup{name: r.Group})
		}
		g := &groups[len(groups)-1]
		g.resources = append(g.resources, r)
		for _, v := range r.Versions {
			if !slices.Contains(g.versions, v) {
				g.versions = append(g.versions, v)
			}
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g.versions, func(a, b string) int { return apiversion.CompareKubeAwareVersionStrings(b, a) })
	}
	return groups
}

// of returns the resources that have this version.
func (g apiGroup) of(version string) []Resource {
	return slices.DeleteFunc(slices.Clone(g.resources), func(r Resource) bool { return !slices.Contains(r.Versions, version) })
}

func (g apiGroup) plain() object {
	versions := make([]object, 0, len(g.versions))
	for _, v := range g.versions {
		versions = append(versions, object{"groupVersion": g.name + "/" + v, "version": v})
	}
	return object{"name": g.name, "versions": versions, "preferredVersion": versions[0]}
}

func (g apiGroup) aggregated() object {
	versions := make([]object, 0, len(g.versions))
	for _, v := range g.versions {
		resources := []object{}
		for _, r := range g.of(v) {
			scope := "Cluster"
			if r.Namespaced {
				scope = "Namespaced"
			}
			resources = append(resources, object{
				"resource": r.Name, "singularResource": strings.ToLower(r.Kind), "scope": scope, "verbs": r.verbs(),
				"responseKind": object{"group": r.Group, "version": v, "kind": r.Kind},
			})
		}
		versions = append(versions, object{"version": v, "resources": resources, "freshness": "Current"})
	}
	return object{"metadata": object{"name": g.name, "creationTimestamp": nil}, "versions": versions}
}

// groupResources answers a group-version.
func groupResources(w http.ResponseWriter, groups []apiGroup, group, version string) {
	for _, g := range groups {
		if g.name != group || !slices.Contains(g.versions, version) {
			continue
		}
		resources := []object{}
		for _, r := range g.of(version) {
			resources = append(resources, object{
				"name": r.Name, "singularName": strings.ToLower(r.Kind), "namespaced": r.Namespaced, "kind": r.Kind, "verbs": r.verbs(),
			})
		}
		gv := Resource{Group: group}.groupVersion(version)
		writeJSON(w, apistatus.ContentType, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": resources})
		return
	}
	notFound(w)
}
