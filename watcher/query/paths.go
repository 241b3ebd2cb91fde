package query

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

// servePath answers what is about no resource: health, version, discovery and /v1.
func (h *Handler) servePath(w *recorder, r *http.Request, q *request, user access.User) error {
	if q.path == relation.Path && h.relations != nil {
		return h.relate(w, r, q, user)
	}
	if err := h.guard.Authorize(r.Context(), user, q.attributes()); err != nil {
		return err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return notAllowed(w, http.MethodGet, readOnly)
	}
	switch q.path {
	case "/healthz", "/livez":
		return writeText(w, http.StatusOK, "ok")
	case "/readyz":
		if len(h.kinds.Served().Groups) == 0 {
			return notKnown()
		}
		return writeText(w, http.StatusOK, "ok")
	case "/v1/watches":
		return h.listWatches(w)
	case "/v1/objects", "/v1/objects:query":
		return status(http.StatusNotFound, metav1.StatusReasonNotFound,
			"%s was removed: use the path of the resource, such as /apis/apps/v1/namespaces/shop/deployments", q.path)
	case "/version", "/version/":
		return kubeapi.WriteJSON(w, kubeapi.StatusType, h.versionInfo())
	}
	if parts := q.parts; parts[0] == "api" || parts[0] == "apis" {
		return h.discover(w, r, parts)
	}
	return noResource()
}

// relate answers a query for relations, which is about the object that it names.
func (h *Handler) relate(w *recorder, r *http.Request, q *request, user access.User) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return notAllowed(w, "GET, HEAD", "use GET")
	}
	in, err := relation.ParseQuery(q.query)
	if err != nil {
		return err
	}
	in.User, q.user = user, user
	q.gvr = watches.GVR{Group: in.Group, Version: in.Version, Resource: in.Kind}
	if k, served := h.kinds.Served().FindKind(in.Group, in.Version, in.Kind); served {
		q.gvr.Resource = k.Name
	}
	if err := h.sit(w, r, q); err != nil {
		return err
	}
	answer, err := h.relations.Graph(r.Context(), in, w.seat)
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.seat.Leave()
	w.Header().Set("Content-Type", kubeapi.StatusType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.rendered = len(text)
	_, err = w.Write(append(text, '\n'))
	return err
}

func (h *Handler) listWatches(w http.ResponseWriter) error {
	all := append([]watches.Status{}, h.kinds.List()...)
	for i := range all {
		all[i].Error = badinput.Redact(all[i].Error)
	}
	return kubeapi.WriteJSON(w, kubeapi.StatusType, map[string]any{"watches": all})
}

const readOnly = "the API can only be read; send changes to the apiserver, and name kinds to follow in " +
	"resourceWatcher.watches.pinned"

func notAllowed(w http.ResponseWriter, allowed, why string) error {
	w.Header().Set("Allow", allowed)
	return status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource: %s", why)
}

func writeText(w http.ResponseWriter, status int, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, err := w.Write([]byte(text))
	return err
}

// versionInfo is the cluster's version, to which clients compare theirs.
func (h *Handler) versionInfo() apiversion.Info {
	version := cmp.Or(h.version(), "v1.36.0")
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	info := apiversion.Info{GitVersion: version, Major: parts[0]}
	if len(parts) > 1 {
		info.Minor = parts[1]
	}
	return info
}
