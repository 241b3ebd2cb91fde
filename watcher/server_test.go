package watcher

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestReadyzTells(t *testing.T) {
	sick := errors.New("storage http://a: no answer within 5s")
	for _, tc := range []struct {
		name  string
		ready error
		ails  []error
		code  int
		want  string
	}{
		{"sound", nil, nil, http.StatusOK, "ok"},
		{"one of two endpoints is down", nil, []error{sick}, http.StatusOK, "ok\nstorage http://a: no answer within 5s"},
		{"all are", sick, []error{sick}, http.StatusServiceUnavailable, "storage http://a: no answer within 5s\n"},
	} {
		rec := httptest.NewRecorder()
		h := healthHandler(func() error { return tc.ready }, func() []error { return tc.ails }, false)
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if rec.Code != tc.code || rec.Body.String() != tc.want {
			t.Errorf("%s: %d %q, want %d %q", tc.name, rec.Code, rec.Body, tc.code, tc.want)
		}
	}
}
