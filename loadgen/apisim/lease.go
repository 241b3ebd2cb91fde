package apisim

import (
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// leases is the one resource that clients write: replicas of a watcher elect by it.
const leases = "leases.coordination.k8s.io"

// writeLease creates, replaces or deletes a Lease, with an apiserver's optimistic concurrency.
func (s *Server) writeLease(w http.ResponseWriter, r *http.Request, p kubeapi.Path) error {
	of := schema.GroupResource{Group: p.Group, Resource: p.Resource}
	if r.Method == http.MethodDelete && p.Name != "" {
		if _, err := s.Delete(leases, p.Namespace, p.Name); err != nil {
			return apierrors.NewNotFound(of, p.Name)
		}
		s.json(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
		return nil
	}
	create := r.Method == http.MethodPost && p.Name == ""
	if !create && (r.Method != http.MethodPut || p.Name == "") {
		return kubeapi.MethodNotAllowed(r, p.Group, p.Resource, "a simulated apiserver creates, replaces and deletes Leases")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxObject))
	if err != nil {
		return kubeapi.BadRequest("read the Lease: %v", err)
	}
	o, err := s.apply(leases, body, func(d *draft, prev *version) error {
		switch {
		case d.Namespace != p.Namespace || !create && d.Name != p.Name:
			return kubeapi.BadRequest("the Lease is %s, the path is of %s/%s", d.key, p.Namespace, p.Name)
		case create && prev != nil:
			return apierrors.NewAlreadyExists(of, d.Name)
		case prev == nil: // PUT creates, too, whatever version it names
			create = true
		case d.given != "" && d.given != strconv.FormatUint(prev.rv, 10):
			return apierrors.NewConflict(of, d.Name, errChanged)
		}
		return nil
	})
	if err != nil {
		if _, known := err.(apierrors.APIStatus); known {
			return err
		}
		return kubeapi.BadRequest("%v", err)
	}
	w.Header().Set("Content-Type", kubeapi.StatusType)
	if create {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(o.JSON())
	return nil
}
