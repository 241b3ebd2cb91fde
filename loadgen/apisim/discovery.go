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

// discover answers /api and /apis with the aggregated discovery, whatever form of
// it the client accepts.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) {
	if r.Method != http.MethodGet || len(parts) > 1 {
		notFound(w)
		return
	}
	if !strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "as=APIGroupDiscoveryList") {
		apistatus.Write(w, notAcceptable())
		return
	}
	s.mu.Lock()
	groups := inGroups(s.resources())
	s.mu.Unlock()
	items := []object{}
	for _, g := range groups {
		if (g.name == "") == (parts[0] == "api") {
			items = append(items, g.aggregated())
		}
	}
	writeJSON(w, apistatus.ContentType+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		object{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": object{}, "items": items})
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

func (g apiGroup) aggregated() object {
	versions := make([]object, 0, len(g.versions))
	for _, v := range g.versions {
		resources := []object{}
		for _, r := range g.resources {
			if !slices.Contains(r.Versions, v) {
				continue
			}
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
