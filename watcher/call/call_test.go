package call_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/call"
)

func TestDo(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Accept")+" "+r.Header.Get("X")+" "+string(b))
	}))
	defer s.Close()
	for _, tc := range []struct {
		request call.Request
		want    string
	}{
		{call.Request{Method: "GET"}, "GET  application/json  "},
		{call.Request{Method: "POST", Body: []byte(`{}`), Header: map[string]string{"X": "y"}}, "POST application/json application/json y {}"},
	} {
		tc.request.URL = s.URL
		tc.request.Limit = int64(len(tc.want))
		status, body, err := call.Do(t.Context(), s.Client(), tc.request)
		if err != nil || status != http.StatusTeapot || string(body) != tc.want {
			t.Errorf("%d, %q, %v; want %q", status, body, err, tc.want)
		}
		tc.request.Limit--
		if _, _, err := call.Do(t.Context(), s.Client(), tc.request); err == nil || !strings.Contains(err.Error(), "answer longer than") {
			t.Errorf("an answer beyond the limit: %v", err)
		}
	}
}
