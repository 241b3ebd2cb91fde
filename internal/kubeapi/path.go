package kubeapi

import (
	"slices"
	"strings"
)

// Path holds the parts of a request's path to a resource.
type Path struct {
	Group, Version, Resource     string
	Namespace, Name, Subresource string
}

// ParsePath takes a path apart: its parts, and what they name if that is a resource. An error is a path that leads
// nowhere.
func ParsePath(path string) (p Path, parts []string, resource bool, err error) {
	parts = strings.Split(strings.Trim(path, "/"), "/")
	var rest []string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		p.Version, rest = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		p.Group, p.Version, rest = parts[1], parts[2], parts[3:]
	default:
		return p, parts, false, nil
	}
	if slices.Contains(rest, "") {
		return p, parts, true, NoResource()
	}
	p.below(rest)
	return p, parts, true, nil
}

// below reads the parts behind the version: namespaces/ns/resource/name/subresource, from resource on or with
// namespaces itself as the resource.
func (p *Path) below(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		p.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	p.Resource = parts[0]
	if len(parts) > 1 {
		p.Name = parts[1]
	}
	if len(parts) > 2 {
		p.Subresource = strings.Join(parts[2:], "/")
	}
}

// Fits reports whether the path fits the scope of its kind. A namespace object is in itself for authorisation only.
func (p *Path) Fits(namespaced bool) bool {
	if !namespaced && p.Group == "" && p.Resource == "namespaces" && p.Namespace == p.Name {
		p.Namespace = ""
	}
	return namespaced && (p.Namespace != "" || p.Name == "") || !namespaced && p.Namespace == ""
}

// Name is the place of an object within its kind.
type Name struct{ Namespace, Name string }

func (n Name) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// Compare orders as the apiserver lists: by the key in etcd, namespace/name.
func (n Name) Compare(other Name) int {
	if n.Namespace == other.Namespace {
		return strings.Compare(n.Name, other.Name)
	}
	a, b := n.Namespace, other.Namespace
	switch short := min(len(a), len(b)); {
	case a[:short] != b[:short]:
		return strings.Compare(a, b)
	case len(a) < len(b): // the slash behind a meets a character of b
		return int('/') - int(b[short])
	default:
		return int(a[short]) - int('/')
	}
}
