package pod

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// A Job is made over connections that break, also after the API server has made it. That of another run is not taken.
func TestJobIsMadeOverBrokenConnections(t *testing.T) {
	for owner, wants := range map[string]string{"run": "", "other": `belongs to the run "other"`} {
		s := Spec{Owner: "run", Job: "storage", Of: 1}
		job := s.job()
		job.Labels[labelInstance] = owner
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n := asked.Add(1); {
			case n <= 2:
				panic(http.ErrAbortHandler)
			case r.Method == http.MethodPost:
				answer(w, http.StatusConflict, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonAlreadyExists, Code: http.StatusConflict})
			default:
				answer(w, http.StatusOK, job)
			}
		}))
		defer server.Close()
		at, err := NewPlace(&rest.Config{Host: server.URL}, "n")
		if err != nil {
			t.Fatal(err)
		}
		defer at.close()
		made, err := at.ensure(t.Context(), s.job())
		if wants == "" && (err != nil || made.Name != s.Job) || wants != "" && (err == nil || !strings.Contains(err.Error(), wants)) {
			t.Errorf("of %s: %v", owner, err)
		}
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	if j, ok := body.(*batchv1.Job); ok {
		j.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	}
	if s, ok := body.(*metav1.Status); ok {
		s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
