package query

import (
	"cmp"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
)

// servePath answers what is about no resource: health, version, discovery and /v1.
func (h *Handler) servePath(w *recorder, r *http.Request, q *request, user access.User) error {
	switch q.path {
	case "/v1/objects", "/v1/objects:query":
		return h.query(w, r, q, user)
	}
	if err := h.guard.Authorize(r.Context(), user, q.attributes()); err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(q.path, watchesPath); ok && h.watches != nil && (rest == "" || rest[0] == '/') {
		return h.serveWatches(w, r, strings.TrimPrefix(rest, "/"))
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
	case "/version", "/version/":
		return kubeapi.WriteJSON(w, kubeapi.StatusType, h.versionInfo())
	}
	if parts := q.parts; parts[0] == "api" || parts[0] == "apis" {
		return h.discover(w, r, parts)
	}
	return noResource()
}

const readOnly = "the API can only be read"

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
