package kubeapi

import (
	"cmp"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Group is an API group that is served, with its versions, the preferred one first.
type Group struct {
	Name     string
	Versions []Version
}

// Version is a version of a group.
type Version struct {
	Name      string
	Resources []metav1.APIResource // without group and version; SingularName defaults to the kind in lower case
}

func (v *Version) resources() []metav1.APIResource {
	for i := range v.Resources {
		r := &v.Resources[i]
		r.SingularName = cmp.Or(r.SingularName, strings.ToLower(r.Kind))
	}
	return v.Resources
}

// Discover answers /api and /apis and what is below them up to the resources, given as parts of the path; in the
// aggregated form for those who ask for it.
func Discover(w http.ResponseWriter, r *http.Request, parts []string, groups []Group) error {
	as, ok := FormOf(r, AsDiscovery)
	if !ok {
		return NotAcceptable()
	}
	w.Header().Add("Vary", "Accept")
	core := parts[0] == "api"
	if len(parts) == 1 && as == AsDiscovery {
		const contentType = StatusType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		return WriteJSON(w, contentType, aggregate(groups, core))
	}
	var answer any
	switch {
	case len(parts) == 1 && core:
		answer = coreVersions(groups, r.Host)
	case len(parts) == 1:
		list := &metav1.APIGroupList{Groups: []metav1.APIGroup{}}
		list.Kind, list.APIVersion = "APIGroupList", "v1"
		for _, g := range groups {
			if g.Name != "" && len(g.Versions) > 0 {
				list.Groups = append(list.Groups, g.describe())
			}
		}
		answer = list
	case len(parts) == 2 && !core:
		for _, g := range groups {
			if g.Name == parts[1] && g.Name != "" && len(g.Versions) > 0 {
				group := g.describe()
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				answer = &group
			}
		}
	default:
		group := ""
		if !core {
			group = parts[1]
		}
		if list := resourceList(groups, group, parts[len(parts)-1]); list != nil && len(parts) < 4 {
			answer = list
		}
	}
	if answer == nil {
		return NoResource()
	}
	return WriteJSON(w, StatusType, answer)
}

func coreVersions(groups []Group, host string) *metav1.APIVersions {
	out := &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: host}},
	}
	for _, g := range groups {
		for _, v := range g.Versions {
			if g.Name == "" {
				out.Versions = append(out.Versions, v.Name)
			}
		}
	}
	return out
}

// describe is a group with its versions, of which there is one at least.
func (g *Group) describe() metav1.APIGroup {
	out := metav1.APIGroup{Name: g.Name}
	for _, v := range g.Versions {
		gv := metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + v.Name, Version: v.Name}
		out.Versions = append(out.Versions, gv)
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// resourceList lists the resources of a version of a group; nil if it is not served.
func resourceList(groups []Group, group, version string) *metav1.APIResourceList {
	for _, g := range groups {
		for _, v := range g.Versions {
			if g.Name == group && v.Name == version {
				return &metav1.APIResourceList{
					TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
					GroupVersion: GroupVersion(group, version), APIResources: v.resources(),
				}
			}
		}
	}
	return nil
}

type object = map[string]any

// aggregate is all of the core group, or of the others, as apidiscovery.k8s.io/v2 has it.
func aggregate(groups []Group, core bool) object {
	items := []object{}
	for _, g := range groups {
		if (g.Name == "") != core {
			continue
		}
		versions := []object{}
		for _, v := range g.Versions {
			resources := []object{}
			for _, r := range v.resources() {
				scope := "Cluster"
				if r.Namespaced {
					scope = "Namespaced"
				}
				resources = append(resources, object{
					"resource": r.Name, "singularResource": r.SingularName, "scope": scope, "verbs": r.Verbs,
					"shortNames": r.ShortNames, "categories": r.Categories,
					"responseKind": object{"group": g.Name, "version": v.Name, "kind": r.Kind},
				})
			}
			versions = append(versions, object{"version": v.Name, "freshness": "Current", "resources": resources})
		}
		items = append(items, object{"metadata": object{"name": g.Name, "creationTimestamp": nil}, "versions": versions})
	}
	return object{"kind": AsDiscovery + "List", "apiVersion": discovery, "metadata": object{}, "items": items}
}
