package query

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// served are the verbs of every resource.
var served = metav1.Verbs{"get", "list", "watch"}

// discover answers /api and /apis and what is below them up to the resources.
func (h *Handler) discover(w http.ResponseWriter, r *http.Request, parts []string) error {
	c := h.kinds.Served()
	if len(c.Groups) == 0 {
		return notKnown()
	}
	var groups []kubeapi.Group
	for _, g := range c.Groups {
		group := kubeapi.Group{Name: g.Name}
		for _, v := range g.Versions {
			version := kubeapi.Version{Name: v.Name, Resources: []metav1.APIResource{}}
			for _, k := range v.Resources {
				version.Resources = append(version.Resources, metav1.APIResource{
					Name: k.Name, SingularName: k.Singular, Namespaced: k.Namespaced, Kind: k.Kind, Verbs: served,
					ShortNames: k.ShortNames, Categories: k.Categories,
				})
			}
			group.Versions = append(group.Versions, version)
		}
		groups = append(groups, group)
	}
	return kubeapi.Discover(w, r, parts, groups)
}
