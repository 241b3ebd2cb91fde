package apisim

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// serverVersion is the answer to /version, of the release whose behaviour this is.
var serverVersion = apiversion.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3-apisim", Platform: "linux/amd64"}

// verbs are in the order in which an apiserver lists them.
var verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// discover answers /api and /apis in the form that the client asks for: the aggregated one, or the older one of a
// request for each group and version.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) {
	s.mu.Lock()
	all := s.resources()
	s.mu.Unlock()
	if err := kubeapi.Discover(w, r, parts, groups(all)); err != nil {
		notFound(w)
	}
}

func groups(all []Resource) (found []kubeapi.Group) {
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(r Resource) bool { return r.Group != all[0].Group })
		if n < 0 {
			n = len(all)
		}
		g := kubeapi.Group{Name: all[0].Group}
		for _, name := range versionsOf(all[:n]) {
			v := kubeapi.Version{Name: name}
			for _, r := range all[:n] {
				if slices.Contains(r.Versions, name) {
					v.Resources = append(v.Resources, metav1.APIResource{
						Name: r.Name, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: verbs,
					})
				}
			}
			g.Versions = append(g.Versions, v)
		}
		found, all = append(found, g), all[n:]
	}
	return found
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
