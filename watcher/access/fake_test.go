package access

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }

// apiserverFake records every review, as sent, and answers it.
type apiserverFake struct {
	mu      sync.Mutex
	reviews []string                     // guarded by mu: path and body
	delay   time.Duration                // before an answer
	token   func(token string) string    // the status of a TokenReview
	access  func(verb, ns string) string // of a SubjectAccessReview
	status  int                          // of HTTP, instead of an answer
}

const (
	yesUser    = `{"authenticated":true,"user":{"username":"ann","uid":"u1","groups":["dev","system:authenticated"],"extra":{"k":["v","w"]}}}`
	noUser     = `{"authenticated":false,"error":"expired"}`
	yesAllowed = `{"allowed":true}`
	noAllowed  = `{"allowed":false,"reason":"no rule"}`
)

func newFake() *apiserverFake {
	return &apiserverFake{
		token: func(t string) string {
			if strings.HasPrefix(t, "good") {
				return yesUser
			}
			return noUser
		},
		access: func(_, ns string) string {
			if ns == "mine" {
				return yesAllowed
			}
			return noAllowed
		},
	}
}

func (f *apiserverFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.reviews = append(f.reviews, r.Method+" "+r.URL.Path+" "+string(data))
	delay, status := f.delay, f.status
	f.mu.Unlock()
	time.Sleep(delay)
	if status != 0 {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		return
	}
	var in struct {
		Spec struct {
			Token              string
			ResourceAttributes struct{ Verb, Namespace string }
		}
	}
	if err := json.Unmarshal(data, &in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := f.access(in.Spec.ResourceAttributes.Verb, in.Spec.ResourceAttributes.Namespace)
	if strings.HasSuffix(r.URL.Path, "tokenreviews") {
		answer = f.token(in.Spec.Token)
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"spec":`+string(data)+`,"status":`+answer+`}`)
}

// RoundTrip lets it stand in for the network in virtual time.
func (f *apiserverFake) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

// CloseIdleConnections closes none.
func (f *apiserverFake) CloseIdleConnections() {}

// take is what was recorded since the last call.
func (f *apiserverFake) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.reviews
	f.reviews = nil
	return out
}

func (f *apiserverFake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// reviewer asks the fake; what it logs is in the buffer.
func (f *apiserverFake) reviewer(t *testing.T, c Config) (*Reviewer, *logged) {
	t.Helper()
	log := &logged{}
	r := must(New(c, Settings{Kube: &rest.Config{Host: "http://fake", Transport: f}, Logger: log.logger()})).(*Reviewer)
	return r, log
}

// logged is a log of everything, that of debugging included.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func guarded() Config {
	c := Default()
	c.Authentication, c.Port = TokenReview, 0
	return c
}

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// must is the value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
