package apisim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// serverVersion is the answer to /version, of the release whose behaviour this is.
var serverVersion = apiversion.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3-apisim", Platform: "linux/amd64"}

type object = map[string]any

func writeJSON(w http.ResponseWriter, contentType string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		kubeapi.WriteStatus(w, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(append(text, '\n'))
}

// discover answers /api and /apis in the form that the client asks for: the aggregated
// one, or the older one of a request for each group and version.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) {
	s.mu.Lock()
	resources := s.resources()
	s.mu.Unlock()
	w, end := compress(w, r)
	defer end()
	core := parts[0] == "api"
	whole := strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "as=APIGroupDiscoveryList")
	var answer object
	switch {
	case r.Method != http.MethodGet:
	case len(parts) == 1 && whole:
		writeJSON(w, kubeapi.StatusType+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", aggregatedList(resources, core))
		return
	case len(parts) == 1 && core:
		answer = object{"kind": "APIVersions", "versions": []string{"v1"}, "serverAddressByClientCIDRs": []object{{"clientCIDR": "0.0.0.0/0", "serverAddress": r.Host}}}
	case len(parts) == 1:
		answer = object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(resources)}
	case len(parts) == 2 && core:
		answer = resourceList(resources, "", parts[1])
	case len(parts) == 2:
		for _, g := range groups(resources) {
			if g["name"] == parts[1] {
				answer = g
				answer["kind"], answer["apiVersion"] = "APIGroup", "v1"
			}
		}
	case len(parts) == 3 && !core:
		answer = resourceList(resources, parts[1], parts[2])
	}
	if answer == nil {
		notFound(w)
		return
	}
	writeJSON(w, kubeapi.StatusType, answer)
}

// groups describes the groups other than the core one, and their versions, the
// preferred one first.
func groups(all []Resource) []object {
	found := []object{}
	for len(all) > 0 {
		n := sameGroup(all)
		if group := all[0].Group; group != "" {
			versions := []object{}
			for _, v := range versionsOf(all[:n]) {
				versions = append(versions, object{"groupVersion": group + "/" + v, "version": v})
			}
			found = append(found, object{"name": group, "versions": versions, "preferredVersion": versions[0]})
		}
		all = all[n:]
	}
	return found
}

// resourceList describes what a version of a group has, nil if it is not served.
func resourceList(all []Resource, group, version string) object {
	list := []object{}
	for _, r := range all {
		if r.Group == group && slices.Contains(r.Versions, version) {
			list = append(list, object{
				"name": r.Name, "singularName": strings.ToLower(r.Kind), "namespaced": r.Namespaced, "kind": r.Kind,
				"verbs": r.verbs(), "shortNames": shortNames[r.Key()], "categories": categories[r.Key()],
			})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": Resource{Group: group}.groupVersion(version), "resources": list}
}

// shortNames are those that kubectl's users type, categories are those that stand for
// several kinds, as in kubectl get all.
var (
	shortNames = map[string][]string{
		"pods": {"po"}, "nodes": {"no"}, "namespaces": {"ns"}, "configmaps": {"cm"}, "events": {"ev"}, "services": {"svc"}, "endpoints": {"ep"},
		"serviceaccounts": {"sa"}, "persistentvolumes": {"pv"}, "persistentvolumeclaims": {"pvc"},
		"deployments.apps": {"deploy"}, "replicasets.apps": {"rs"}, "statefulsets.apps": {"sts"}, "daemonsets.apps": {"ds"}, "cronjobs.batch": {"cj"},
		"customresourcedefinitions.apiextensions.k8s.io": {"crd", "crds"},
	}
	categories = map[string][]string{
		"pods": inAll, "services": inAll, "deployments.apps": inAll, "replicasets.apps": inAll, "statefulsets.apps": inAll, "daemonsets.apps": inAll,
		"jobs.batch": inAll, "cronjobs.batch": inAll,
		"customresourcedefinitions.apiextensions.k8s.io": {"api-extensions"},
	}
	inAll = []string{"all"}
)

func sameGroup(all []Resource) int {
	n := 1
	for n < len(all) && all[n].Group == all[0].Group {
		n++
	}
	return n
}

// versionsOf are the versions of a group, the preferred one first.
func versionsOf(all []Resource) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Versions...)
	}
	slices.SortFunc(names, func(a, b string) int { return apiversion.CompareKubeAwareVersionStrings(b, a) })
	return slices.Compact(names)
}

func aggregatedList(all []Resource, core bool) object {
	items := []object{}
	for len(all) > 0 {
		n := sameGroup(all)
		if (all[0].Group == "") == core {
			items = append(items, aggregated(all[0].Group, all[:n]))
		}
		all = all[n:]
	}
	return object{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": object{}, "items": items}
}

// aggregated describes the resources of one group, the preferred version first.
func aggregated(group string, all []Resource) object {
	versions := []object{}
	for _, v := range versionsOf(all) {
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
				"shortNames": shortNames[r.Key()], "categories": categories[r.Key()], "resource": r.Name, "singularResource": strings.ToLower(r.Kind), "scope": scope, "verbs": r.verbs(),
				"responseKind": object{"group": r.Group, "version": v, "kind": r.Kind},
			})
		}
		versions = append(versions, object{"version": v, "resources": resources, "freshness": "Current"})
	}
	return object{"metadata": object{"name": group, "creationTimestamp": nil}, "versions": versions}
}
