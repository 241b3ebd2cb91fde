package collector_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

func newLister(t *testing.T, api *fakeAPI, c collector.Config) *collector.Lister {
	t.Helper()
	l, err := collector.NewLister(&rest.Config{Host: api.url}, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.Pause = time.Millisecond
	return l
}

// TestLister: pages of objects, and the version.
func TestLister(t *testing.T) {
	api := newFakeAPI(t)
	api.page = 2
	for i := range 5 {
		api.put("pods", fmt.Sprintf("a/p%d", i), fmt.Sprintf("u%d", i), `"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{}]|"spec":{}`)
	}
	asked := 0
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		asked++
		if r.URL.Query().Get("continue") == "4" && asked == 3 {
			w.WriteHeader(http.StatusGone) // the token has expired; another one goes on at the present
			_, _ = fmt.Fprint(w, strings.Replace(statusJSON(410, "Expired", "too old"), `"metadata":{}`, `"metadata":{"continue":"3"}`, 1))
			return true
		}
		return false
	}
	l := newLister(t, api, collector.Config{})
	n := 0
	if _, err := l.Objects(t.Context(), pods, func(o *object.Object) error {
		n++
		if strings.Contains(string(o.JSON()), "managedFields") {
			t.Errorf("%s is not prepared", o.JSON())
		}
		return nil
	}); err != nil || n != 6 { // the new token goes on one earlier here
		t.Errorf("%d objects, %v", n, err)
	}
	if version, err := l.Version(t.Context(), pods); err != nil || version != "105" {
		t.Errorf("version %q, %v", version, err)
	}
}
