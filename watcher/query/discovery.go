package query

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/watches"
)

// served are the verbs of every resource.
var served = metav1.Verbs{"get", "list", "watch"}

func writeJSON(w http.ResponseWriter, contentType string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentType)
	_, err = w.Write(append(text, '\n'))
	return err
}

// discover answers /api and /apis and what is below them up to the resources, in the
// aggregated form for those who ask for it.
func (h *Handler) discover(w http.ResponseWriter, r *http.Request, parts []string) error {
	f, ok := formOf(r, true)
	if !ok {
		return notAcceptable()
	}
	c, core := h.kinds.Served(), parts[0] == "api"
	if len(c.Groups) == 0 {
		return notKnown()
	}
	w.Header().Add("Vary", "Accept")
	if len(parts) == 1 && f.as == asDiscovery {
		return writeJSON(w, kubeapi.StatusType+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", aggregate(c, core))
	}
	var answer any
	switch {
	case len(parts) == 1 && core:
		answer = &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: versionsOf(c, ""),
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		}
	case len(parts) == 1:
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
		for _, g := range c.Groups {
			if g.Name != "" && len(g.Versions) > 0 {
				list.Groups = append(list.Groups, describe(g))
			}
		}
		answer = list
	case len(parts) == 2 && !core:
		for _, g := range c.Groups {
			if g.Name == parts[1] && g.Name != "" && len(g.Versions) > 0 {
				group := describe(g)
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				answer = &group
			}
		}
	case core:
		answer = resources(c, "", parts[1])
	default:
		answer = resources(c, parts[1], parts[2])
	}
	if list, ok := answer.(*metav1.APIResourceList); answer == nil || ok && list == nil {
		return noResource()
	}
	return writeJSON(w, kubeapi.StatusType, answer)
}

// versionsOf are the versions of a group, the preferred one first.
func versionsOf(c *watches.Catalogue, group string) []string {
	names := []string{}
	for _, g := range c.Groups {
		for _, v := range g.Versions {
			if g.Name == group {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// describe is a group with its versions, of which there is one at least.
func describe(g watches.Group) metav1.APIGroup {
	out := metav1.APIGroup{Name: g.Name}
	for _, v := range g.Versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + v.Name, Version: v.Name})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// resources are what a version of a group has, nil if it is not served.
func resources(c *watches.Catalogue, group, version string) *metav1.APIResourceList {
	for _, g := range c.Groups {
		for _, v := range g.Versions {
			if g.Name != group || v.Name != version {
				continue
			}
			list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{}}
			list.GroupVersion = v.Name
			if group != "" {
				list.GroupVersion = group + "/" + v.Name
			}
			for _, k := range v.Kinds {
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: k.Name, SingularName: singular(k), Namespaced: k.Namespaced, Kind: k.Kind, Verbs: served, ShortNames: k.ShortNames, Categories: k.Categories,
				})
			}
			return list
		}
	}
	return nil
}

// singular is the name of one object, as users type it.
func singular(k watches.Kind) string {
	if k.Singular != "" {
		return k.Singular
	}
	return strings.ToLower(k.Kind)
}

// groupDiscovery and the types below are those of apidiscovery.k8s.io/v2.
type groupDiscovery struct {
	Metadata struct {
		Name              string `json:"name,omitempty"`
		CreationTimestamp any    `json:"creationTimestamp"` // null, as an apiserver sends it
	} `json:"metadata"`
	Versions []versionDiscovery `json:"versions"`
}

type versionDiscovery struct {
	Version   string              `json:"version"`
	Resources []resourceDiscovery `json:"resources"`
	Freshness string              `json:"freshness"`
}

type resourceDiscovery struct {
	Resource         string                  `json:"resource"`
	ResponseKind     metav1.GroupVersionKind `json:"responseKind"`
	Scope            string                  `json:"scope"`
	SingularResource string                  `json:"singularResource"`
	Verbs            []string                `json:"verbs"`
	ShortNames       []string                `json:"shortNames,omitempty"`
	Categories       []string                `json:"categories,omitempty"`
}

type discoveryList struct {
	Kind       string           `json:"kind"`
	APIVersion string           `json:"apiVersion"`
	Metadata   struct{}         `json:"metadata"`
	Items      []groupDiscovery `json:"items"`
}

// aggregate is all of the core group, or of the others.
func aggregate(c *watches.Catalogue, core bool) discoveryList {
	list := discoveryList{Kind: asDiscovery + "List", APIVersion: "apidiscovery.k8s.io/v2", Items: []groupDiscovery{}}
	for _, g := range c.Groups {
		if (g.Name == "") != core {
			continue
		}
		var out groupDiscovery
		out.Metadata.Name = g.Name
		for _, v := range g.Versions {
			in := versionDiscovery{Version: v.Name, Freshness: "Current", Resources: []resourceDiscovery{}}
			for _, k := range v.Kinds {
				scope := "Cluster"
				if k.Namespaced {
					scope = "Namespaced"
				}
				in.Resources = append(in.Resources, resourceDiscovery{
					Resource: k.Name, ResponseKind: metav1.GroupVersionKind{Group: g.Name, Version: v.Name, Kind: k.Kind}, Scope: scope,
					SingularResource: singular(k), Verbs: served, ShortNames: k.ShortNames, Categories: k.Categories,
				})
			}
			out.Versions = append(out.Versions, in)
		}
		list.Items = append(list.Items, out)
	}
	return list
}
