package query

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/watches"
)

const watchesPath = "/v1/watches"

// serveWatches lists what is followed (GET /v1/watches), follows more (POST /v1/watches with
// group, version and resource) and ends that (DELETE /v1/watches/group/version/resource).
func (h *Handler) serveWatches(w http.ResponseWriter, r *http.Request, rest string) error {
	switch {
	case rest == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		all := h.watches.List()
		for i := range all {
			all[i].Error = badinput.Redact(all[i].Error)
		}
		if all == nil {
			all = []watches.Status{}
		}
		return kubeapi.WriteJSON(w, kubeapi.StatusType, map[string]any{"watches": all})
	case rest == "" && r.Method == http.MethodPost:
		var in struct {
			Group    string `json:"group"`
			Version  string `json:"version"`
			Resource string `json:"resource"`
		}
		if err := readBody(w, r, &in, "group, version and resource"); err != nil {
			return err
		}
		gvr, err := watches.ParseGVR(watches.GVR(in).String())
		if err != nil {
			return badRequest("%v", err)
		}
		ctx, cancel := context.WithTimeout(r.Context(), kubeapi.MaxWait)
		defer cancel()
		err = h.watches.Add(ctx, gvr)
		if errors.Is(err, watches.ErrNotServed) {
			err = h.kinds.Served().NoResource(gvr)
		}
		return h.changed(w, gvr, http.StatusAccepted, err)
	case rest == "":
		return notAllowed(w, "GET, HEAD, POST",
			"use GET or POST; DELETE takes the path of one: /v1/watches/group/version/resource")
	}
	gvr, err := watches.ParseGVR(rest)
	switch {
	case err != nil:
		return noResource()
	case r.Method != http.MethodDelete:
		return notAllowed(w, http.MethodDelete, "use DELETE; GET /v1/watches lists all")
	}
	return h.changed(w, gvr, http.StatusOK, h.watches.Drop(gvr))
}

// changed says what became of a change.
func (h *Handler) changed(w http.ResponseWriter, r watches.GVR, code int, err error) error {
	if err != nil {
		return statusOf(err, r)
	}
	w.Header().Set("Content-Type", kubeapi.StatusType)
	w.WriteHeader(code)
	return kubeapi.WriteJSON(w, kubeapi.StatusType, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Code:    int32(code), //nolint:gosec // a status code
		Details: &metav1.StatusDetails{Group: r.Group, Kind: r.Resource},
	})
}
