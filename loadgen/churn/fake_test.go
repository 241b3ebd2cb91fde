package churn

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// fakeAPI is the part of an apiserver that pods need, as a RoundTripper: without sockets, time in a test can be
// virtual. What it cannot know, such as admission, the integration tests ask a real one.
type fakeAPI struct {
	latency time.Duration
	// fault, if not nil, may answer a request itself. after says that the request takes effect all the same.
	fault func(method, path string, n int) (resp *http.Response, err error, after bool)
	// answer, if not nil, delays the answer to the n-th request, which has taken effect.
	answer func(n int)

	mu       sync.Mutex // guards what follows
	pods     map[string]*corev1.Pod
	version  int
	requests int
	inFlight int
	maxAtOne int
}

var errLost = errors.New("connection reset")

func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.requests++
	n := f.requests
	f.inFlight++
	f.maxAtOne = max(f.maxAtOne, f.inFlight)
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.inFlight--; f.mu.Unlock() }()
	if f.latency > 0 {
		select {
		case <-time.After(f.latency):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if f.fault != nil {
		resp, err, after := f.fault(r.Method, r.URL.Path, n)
		if after {
			f.serve(r)
		}
		if resp != nil || err != nil {
			return resp, err
		}
	}
	resp := f.serve(r)
	if f.answer != nil {
		f.answer(n)
	}
	return resp, nil
}

func (f *fakeAPI) serve(r *http.Request) *http.Response {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pods == nil {
		f.pods = map[string]*corev1.Pod{}
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api v1 namespaces NS pods NAME SUB
	if len(parts) < 5 || parts[4] != "pods" {                  // nodes and their leases
		f.version++
		version := strconv.Itoa(f.version)
		return answerJSON(http.StatusCreated, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid-" + version), ResourceVersion: version}})
	}
	if r.Method == http.MethodPost && len(parts) == 5 {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
		p := obj.(*corev1.Pod)
		key := parts[3] + "/" + p.Name
		if f.pods[key] != nil {
			return status(http.StatusConflict, metav1.StatusReasonAlreadyExists)
		}
		p.UID = types.UID("uid-" + strconv.Itoa(f.version))
		return f.put(http.StatusCreated, key, p)
	}
	key := parts[3] + "/" + parts[5]
	p := f.pods[key]
	switch {
	case p == nil:
		return status(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodDelete && uidOf(body) != p.UID:
		return status(http.StatusConflict, metav1.StatusReasonConflict)
	case r.Method == http.MethodGet:
		return answerJSON(http.StatusOK, p)
	case r.Method == http.MethodDelete && graceOf(body) > 0 && p.DeletionTimestamp != nil:
		return answerJSON(http.StatusOK, p)
	case r.Method == http.MethodDelete && graceOf(body) > 0 && p.Spec.NodeName != "":
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(graceOf(body))
		return f.put(http.StatusOK, key, p)
	case r.Method == http.MethodDelete:
		delete(f.pods, key)
		f.version++
		gone := p.DeepCopy()
		gone.ResourceVersion, gone.DeletionGracePeriodSeconds = strconv.Itoa(f.version), new(int64(0))
		return answerJSON(http.StatusOK, gone)
	case r.Method == http.MethodPost: // binding
		if p.Spec.NodeName != "" {
			return status(http.StatusConflict, metav1.StatusReasonConflict)
		}
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
		p.Spec.NodeName = obj.(*corev1.Binding).Target.Name
		maps.Copy(p.Annotations, obj.(*corev1.Binding).Annotations)
		f.put(http.StatusCreated, key, p)
		return status(http.StatusCreated, "")
	default: // of the status
		if m, _, err := readMetadata(body); err != nil || m.UID != "" && m.UID != p.UID {
			return status(http.StatusConflict, metav1.StatusReasonConflict)
		}
		return f.put(http.StatusOK, key, p)
	}
}

// graceOf is the grace period that a deletion asks for, uidOf the one object it is for.
func graceOf(body []byte) int64   { return *deleteOptions(body).GracePeriodSeconds }
func uidOf(body []byte) types.UID { return *deleteOptions(body).Preconditions.UID }

func deleteOptions(body []byte) *metav1.DeleteOptions {
	opts := &metav1.DeleteOptions{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, opts); err != nil {
		panic(err)
	}
	return opts
}

func (f *fakeAPI) put(code int, key string, p *corev1.Pod) *http.Response {
	f.version++
	p.ResourceVersion = strconv.Itoa(f.version)
	f.pods[key] = p
	return answerJSON(code, p)
}

func answerJSON(code int, obj any) *http.Response {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.APIVersion, o.Kind = "v1", "Pod"
	case *metav1.Status:
		o.APIVersion, o.Kind = "v1", "Status"
	}
	b, _ := json.Marshal(obj)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(b))}
}

func status(code int, reason metav1.StatusReason) *http.Response {
	s := &metav1.Status{Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: string(reason)}
	if code < 300 {
		s.Status = metav1.StatusSuccess
	}
	return answerJSON(code, s)
}

// tooMany is what priority and fairness answers: plain text and a header.
func tooMany(seconds string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"text/plain"}, "Retry-After": {seconds}},
		Body: io.NopCloser(strings.NewReader("Too many requests, please try again later.")),
	}
}

type recorder struct {
	mu      sync.Mutex // guards records
	records []oplog.Record
}

func (r *recorder) Append(rec oplog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, rec)
}

// fakeEngine is an engine on a fake apiserver, with one thread, one namespace and
// no survivors unless change says otherwise.
func fakeEngine(t *testing.T, api *fakeAPI, change func(*plan.Config)) (*Engine, *recorder) {
	t.Helper()
	cfg := plan.Default()
	cfg.Model, cfg.Threads, cfg.Operations, cfg.Survivors = plan.ModelClosed, 1, 9, 0
	if change != nil {
		change(&cfg)
	}
	return engineOn(t, cfg, api)
}

// engineOn is an engine of a load on a fake apiserver.
func engineOn(t *testing.T, cfg plan.Config, api http.RoundTripper) (*Engine, *recorder) {
	t.Helper()
	cfg.RunID = "fake"
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log := &recorder{}
	e, err := New(p, Settings{REST: &rest.Config{Host: "http://apiserver.invalid", Transport: api}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return e, log
}
