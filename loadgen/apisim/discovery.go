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
// it the client accepts, and /apis with the list of groups where none is accepted.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) {
	if r.Method != http.MethodGet || len(parts) > 1 {
		notFound(w)
		return
	}
	whole := strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "as=APIGroupDiscoveryList")
	if !whole && parts[0] == "api" {
		apistatus.Write(w, notAcceptable())
		return
	}
	s.mu.Lock()
	resources := s.resources()
	s.mu.Unlock()
	if !whole {
		writeJSON(w, apistatus.ContentType, groupList(resources))
		return
	}
	items := []object{}
	for len(resources) > 0 {
		group := resources[0].Group
		n := 1
		for n < len(resources) && resources[n].Group == group {
			n++
		}
		if (group == "") == (parts[0] == "api") {
			items = append(items, aggregated(group, resources[:n]))
		}
		resources = resources[n:]
	}
	writeJSON(w, apistatus.ContentType+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		object{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": object{}, "items": items})
}

// groupList names the groups other than the core one, and their versions.
func groupList(all []Resource) object {
	groups := []object{}
	for _, r := range all {
		versions := []object{}
		for _, v := range r.Versions {
			versions = append(versions, object{"groupVersion": r.groupVersion(v), "version": v})
		}
		if r.Group != "" {
			groups = append(groups, object{"name": r.Group, "versions": versions})
		}
	}
	return object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
}

// aggregated describes the resources of one group, the preferred version first.
func aggregated(group string, all []Resource) object {
	var names []string
	for _, r := range all {
		names = append(names, r.Versions...)
	}
	slices.SortFunc(names, func(a, b string) int { return apiversion.CompareKubeAwareVersionStrings(b, a) })
	versions := []object{}
	for _, v := range slices.Compact(names) {
		resources := []object{}
		for _, r := range all {
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
	return object{"metadata": object{"name": group, "creationTimestamp": nil}, "versions": versions}
}
