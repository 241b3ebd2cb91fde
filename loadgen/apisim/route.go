package apisim

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// serve answers without faults.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/ping":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
		return
	case "/version":
		writeJSON(w, kubeapi.StatusType, serverVersion)
		return
	case PathStats:
		writeJSON(w, kubeapi.StatusType, s.Stats(""))
		return
	case PathSave, PathRestore:
		s.goBack(w, r)
		return
	case "/openapi/v3":
		s.schemas(w)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		s.serveResource(w, r, "", parts[1], parts[2:])
	case parts[0] == "apis" && len(parts) > 3:
		s.serveResource(w, r, parts[1], parts[2], parts[3:])
	case parts[0] == "api" || parts[0] == "apis":
		s.discover(w, r, parts)
	case parts[0] == "openapi":
		// Of a 404 in a form that they did not ask for, clients do not show the text.
		http.Error(w, isSimulated, http.StatusNotAcceptable)
	default:
		notFound(w)
	}
}

// goBack saves or restores for an Observer.
func (s *Server) goBack(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.UserAgent() != Observer {
		notFound(w)
		return
	}
	if r.URL.Path == PathSave {
		writeJSON(w, kubeapi.StatusType, s.Save())
		return
	}
	version, err := s.Restore()
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	writeJSON(w, kubeapi.StatusType, version)
}

// isSimulated tells users of kubectl why they are refused.
const isSimulated = "the apiserver is simulated: it takes no writes and has no schemas"

// schemas lists where the schemas of the groups would be: who looks there is told that
// there are none.
func (s *Server) schemas(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := object{}
	for _, k := range s.kinds {
		for _, v := range k.Versions {
			path := "apis/" + k.groupVersion(v)
			if k.Group == "" {
				path = "api/" + v
			}
			paths[path] = object{"serverRelativeURL": "/openapi/v3/" + path}
		}
	}
	writeJSON(w, kubeapi.StatusType, object{"paths": paths})
}

// notFound is what an apiserver says of a path that it does not know.
func notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("404 page not found\n"))
}

// serveResource takes parts of a path: resource, resource/name, or either below
// namespaces/ns.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, group, ver string, parts []string) {
	o := &options{}
	if parts[0] == "namespaces" && len(parts) > 2 {
		o.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 2 {
		o.name = parts[1]
	}
	s.mu.Lock()
	k := s.kinds[Resource{Group: group, Name: parts[0]}.Key()]
	var res Resource
	if k != nil {
		res = k.Resource
	}
	s.mu.Unlock()
	if k != nil && r.Method != http.MethodGet {
		err := apierrors.NewMethodNotSupported(schema.GroupResource{Group: group, Resource: res.Name}, strings.ToLower(r.Method))
		err.ErrStatus.Message += ": " + isSimulated
		kubeapi.WriteStatus(w, err)
		return
	}
	if k == nil || len(parts) > 2 || slices.Contains(parts, "") || !slices.Contains(res.Versions, ver) ||
		o.namespace != "" && !res.Namespaced {
		if s.knows(group) {
			kubeapi.WriteStatus(w, noResource())
			return
		}
		notFound(w)
		return
	}
	var ok bool
	if o.form, ok = formOf(r); !ok {
		kubeapi.WriteStatus(w, notAcceptable())
		return
	}
	if res.Key() == "endpoints" {
		w.Header().Set("Warning", `299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"`)
	}
	o.fields = k.fields
	if o.name != "" { // whatever else the query says
		s.get(w, r, k, ver, o)
		return
	}
	if err := o.parse(r.URL.Query(), !s.config.NoStreaming); err != nil {
		kubeapi.WriteStatus(w, err)
		return
	}
	if o.Watch {
		s.watch(w, r, k, ver, o)
		return
	}
	s.list(w, r, k, ver, o)
}

// noResource is what an apiserver says of what a group that it knows does not have.
func noResource() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}

// knows reports whether the group is served.
func (s *Server) knows(group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		if k.Group == group {
			return true
		}
	}
	return group == ""
}

func notAcceptable() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + kubeapi.StatusType,
	}}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, k *kind, ver string, o *options) {
	s.mu.Lock()
	v := find(k.objects, key{o.namespace, o.name})
	res := k.Resource
	s.mu.Unlock()
	if v == nil {
		kubeapi.WriteStatus(w, apierrors.NewNotFound(schema.GroupResource{Group: res.Group, Resource: res.Name}, o.name))
		return
	}
	w, end := compress(w, r)
	defer end()
	w.Header().Set("Content-Type", kubeapi.StatusType)
	if o.form.as == asMetadata {
		_, _ = w.Write(append(appendPartial(nil, v, v.rv), '\n'))
		return
	}
	_, _ = w.Write(append(v.appendJSON(nil, typed(res.groupVersion(ver), res.Kind), v.rv), '\n'))
}
