package query

import (
	"cmp"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/watches"
)

type request struct {
	path        string   // of a request for no resource
	parts       []string // of that path
	gvr         watches.GVR
	namespace   string
	name        string
	subresource string
	only        string // the one name that a list or watch is about, if it is
	verb        string // get, list or watch
	query       url.Values

	place   *place
	user    access.User
	form    form
	options *options // of a list or watch
	matcher *matcher
}

// parseRequest reads the method, path and query as an apiserver does before it asks
// whether the user may. It refuses only what it cannot read.
func parseRequest(r *http.Request) (*request, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query of the URL cannot be read: %v", err)
	}
	q := &request{query: query, verb: "get"}
	p, parts, resource, err := kubeapi.ParsePath(r.URL.Path)
	if err != nil {
		return nil, err
	}
	if !resource {
		q.path, q.parts = r.URL.Path, parts
		return q, nil
	}
	q.gvr = watches.GVR{Group: p.Group, Version: p.Version, Resource: p.Resource}
	q.namespace, q.name, q.subresource = p.Namespace, p.Name, p.Subresource
	if q.name == "" {
		q.listOrWatch()
	}
	return q, nil
}

// listOrWatch finds the verb of a request without a name, and the one name that its field selector is about.
func (q *request) listOrWatch() {
	q.verb = "list"
	var in metav1.ListOptions
	if metav1.Convert_url_Values_To_v1_ListOptions(&q.query, &in, nil) != nil {
		return // refused later
	}
	if in.Watch {
		q.verb = "watch"
	}
	if s, err := fields.ParseSelector(in.FieldSelector); err == nil {
		if name, exact := s.RequiresExactMatch(kubeapi.NameField); exact && len(content.IsPathSegmentName(name)) == 0 {
			q.only = name
		}
	}
}

func (q *request) health() bool {
	return q.path == "/healthz" || q.path == "/livez" || q.path == "/readyz"
}

func (q *request) attributes() access.Attributes {
	if q.path != "" {
		return access.Attributes{Verb: q.verb, Path: q.path}
	}
	a := access.Attributes{
		Verb: q.verb, Group: q.gvr.Group, Version: q.gvr.Version, Resource: q.gvr.Resource, Subresource: q.subresource,
		Namespace: q.namespace, Name: cmp.Or(q.name, q.only),
	}
	if q.verb != "get" {
		a.LabelSelector, a.FieldSelector = q.query.Get("labelSelector"), q.query.Get("fieldSelector")
	}
	return a
}

// scope refuses a path that does not fit the scope of its kind.
func (q *request) scope(k watches.Kind) error {
	p := kubeapi.Path{Group: q.gvr.Group, Resource: q.gvr.Resource, Namespace: q.namespace, Name: q.name}
	if !p.Fits(k.Namespaced) {
		return noResource()
	}
	q.namespace = p.Namespace
	return nil
}
