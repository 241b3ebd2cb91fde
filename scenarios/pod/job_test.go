package pod

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
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

// A Job keeps its deadline until all its Pods run: the cluster removes those that wait for a node as their stand-ins end.
func TestJobIsKeptOnceAllRun(t *testing.T) {
	for ran, want := range []bool{false, false, true} {
		var patched atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if patched.Store(r.Method == http.MethodPatch); r.Method == http.MethodPatch {
				answer(w, http.StatusOK, &batchv1.Job{})
				return
			}
			if q := r.URL.Query(); q.Get("fieldSelector") != "status.phase!=Pending" || q.Get("labelSelector") != batchv1.JobNameLabel+"=churn" {
				t.Errorf("asks for %s", r.URL)
			}
			answer(w, http.StatusOK, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: make([]corev1.Pod, ran)})
		}))
		defer server.Close()
		at, err := NewPlace(&rest.Config{Host: server.URL}, "n")
		if err != nil {
			t.Fatal(err)
		}
		defer at.close()
		if err := at.keep(t.Context(), &Spec{Job: "churn", Of: 2}); err != nil || patched.Load() != want {
			t.Errorf("%d of 2 have run: kept %t, want %t: %v", ran, patched.Load(), want, err)
		}
	}
}

// The Pods of a preflight end as soon as they are deleted: its agents wait for nobody, and a refusal has 30 s in all.
func TestPreflightEndsAtOnce(t *testing.T) {
	var job batchv1.Job
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_ = json.NewDecoder(r.Body).Decode(&job)
		}
		answer(w, http.StatusForbidden, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	}))
	defer server.Close()
	at, err := NewPlace(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, "n")
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Preflight(t.Context(), Spec{Owner: "run", Job: "storage", Of: 1, Argv: []string{"/storagemock"}}); !badinput.Is(err) {
		t.Error(err)
	}
	if s := job.Spec.Template.Spec.TerminationGracePeriodSeconds; s == nil || *s != 1 {
		t.Errorf("%s is given %v", job.Name, s)
	}
}

// An image without the program that a party needs is bad input.
func TestImageOfAnotherProgram(t *testing.T) {
	p := startAgent(t, "1m")
	err := p.start(t.Context(), Start{Argv: []string{"/no-such-program", "--version"}, Dir: p.dir})
	bad, ok := errors.AsType[*badinput.Error]((&Place{namespace: "n"}).refused(err))
	if !ok || !strings.Contains(bad.Remedy, "make image") {
		t.Error(err)
	}
}

// Who asks through the proxy learns why there is no answer, and of which Pod.
func TestProxySaysWhy(t *testing.T) {
	at := &tunnel{pod: "storage-0"}
	proxy, stop, err := at.proxy(refusing{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	through, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(through)}}
	defer c.CloseIdleConnections()
	if _, err := Ask(t.Context(), c); err == nil || !strings.Contains(err.Error(), "/usage: 502 Bad Gateway: ask the Pod storage-0: nobody listens") {
		t.Error(err)
	}
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody listens")
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
