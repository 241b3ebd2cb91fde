package apisim

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/ping":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
		return
	case "/version":
		s.json(w, serverVersion)
		return
	case PathStats:
		s.json(w, s.Stats(""))
		return
	case PathSave, PathRestore:
		s.goBack(w, r)
		return
	}
	p, parts, resource, err := kubeapi.ParsePath(r.URL.Path)
	switch {
	case resource && s.knows(p.Group):
		if err == nil {
			err = s.serveResource(w, r, p)
		}
		if err != nil {
			kubeapi.WriteStatus(w, err)
		}
	case !resource && (parts[0] == "api" || parts[0] == "apis") && r.Method == http.MethodGet:
		s.discover(w, r, parts)
	default:
		notFound(w)
	}
}

// json answers with a value. Errors of a client that is gone are ignored.
func (s *Server) json(w http.ResponseWriter, v any) { _ = kubeapi.WriteJSON(w, kubeapi.StatusType, v) }

// goBack saves or restores for an Observer.
func (s *Server) goBack(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.UserAgent() != Observer {
		notFound(w)
		return
	}
	if r.URL.Path == PathSave {
		s.json(w, s.Save())
		return
	}
	version, err := s.Restore()
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	s.json(w, version)
}

const isSimulated = "the apiserver is simulated: it takes no writes but of Leases"

func notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("404 page not found\n"))
}

func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, p kubeapi.Path) error {
	s.mu.Lock()
	k := s.kinds[kubeapi.ResourceKey(p.Group, p.Resource)]
	var res Resource
	if k != nil {
		res = k.Resource
	}
	s.mu.Unlock()
	switch {
	case k == nil || p.Subresource != "" || !slices.Contains(res.Versions, p.Version):
		return kubeapi.NoResource()
	case r.Method != http.MethodGet && (res.Key() != leases || p.Namespace == ""):
		return kubeapi.MethodNotAllowed(r, p.Group, p.Resource, isSimulated)
	case !p.Fits(res.Namespaced):
		return kubeapi.NoResource()
	case r.Method != http.MethodGet:
		return s.writeLease(w, r, p)
	}
	as, ok := kubeapi.FormOf(r, kubeapi.AsMetadata)
	if !ok {
		return kubeapi.NotAcceptable()
	}
	o := &options{path: p, fields: k.fields, partial: as != "", shards: !s.config.NoShards}
	if p.Name != "" { // whatever else the query says
		return s.get(w, r, k, o)
	}
	if err := o.parse(r.URL.Query()); err != nil {
		return err
	}
	if o.Watch {
		s.watch(w, r, k, p.Version, o)
		return nil
	}
	s.list(w, r, k, p.Version, o)
	return nil
}

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

func (s *Server) get(w http.ResponseWriter, r *http.Request, k *kind, o *options) error {
	s.mu.Lock()
	v := find(k.objects, key{Namespace: o.path.Namespace, Name: o.path.Name})
	res := k.Resource
	s.mu.Unlock()
	if v == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: res.Group, Resource: res.Name}, o.path.Name)
	}
	out := kubeapi.NewAnswer(w, r, gzipFrom)
	defer out.End()
	w.Header().Set("Content-Type", kubeapi.StatusType)
	_, _ = out.Write(append(v.show(nil, o.partial, typed(res.groupVersion(o.path.Version), res.Kind), v.rv), '\n'))
	return nil
}
