package query

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/watches"
)

// request is what a request is about.
type request struct {
	path        string   // of a request for no resource
	parts       []string // of that path
	gvr         watches.GVR
	namespace   string
	name        string
	subresource string
	only        string // the one name that a list or watch is about, if it is
	verb        string // get, list or watch; of a path that of the method
	query       url.Values

	place   *place
	user    access.User
	form    form
	options *options // of a list or watch
	matcher *matcher
}

// verbs are those of requests for no resource, by method: as in Kubernetes its name, in lower
// case. What is refused whoever asks counts as get.
var verbs = map[string]string{http.MethodPost: "post", http.MethodDelete: "delete"}

// parseRequest reads the method, path and query as an apiserver does before it asks
// whether the user may. It refuses only what it cannot read.
func parseRequest(r *http.Request) (*request, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query of the URL cannot be read: %v", err)
	}
	q := &request{query: query, verb: "get"}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var rest []string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		q.gvr.Version, rest = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		q.gvr.Group, q.gvr.Version, rest = parts[1], parts[2], parts[3:]
	default:
		q.path, q.parts = r.URL.Path, parts
		if verb, ok := verbs[r.Method]; ok {
			q.verb = verb
		}
		return q, nil
	}
	if slices.Contains(rest, "") {
		return nil, noResource()
	}
	q.resource(rest)
	if q.name == "" {
		q.listOrWatch()
	}
	return q, nil
}

// resource reads the parts behind the version: namespaces/ns/resource/name/subresource,
// from resource on or with namespaces itself as the resource.
func (q *request) resource(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		q.namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	q.gvr.Resource = parts[0]
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.subresource = strings.Join(parts[2:], "/")
	}
}

// listOrWatch finds the verb of a request without a name, and the one name that its field
// selector is about.
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
		if name, exact := s.RequiresExactMatch(nameField); exact && len(content.IsPathSegmentName(name)) == 0 {
			q.only = name
		}
	}
}

// health reports whether the request only asks how the server is.
func (q *request) health() bool {
	return q.path == "/healthz" || q.path == "/livez" || q.path == "/readyz"
}

// attributes are what is to be authorised.
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

// namespaces are the resource whose objects are said to be in themselves.
var namespaces = watches.GVR{Version: "v1", Resource: "namespaces"}

// scope refuses a path that does not fit the scope of its kind.
func (q *request) scope(k watches.Kind) error {
	switch {
	case !k.Namespaced && q.gvr == namespaces && q.namespace == q.name:
		q.namespace = "" // as authorisation has it, but no object
	case !k.Namespaced && q.namespace != "", k.Namespaced && q.namespace == "" && q.name != "":
		return noResource()
	}
	return nil
}
