package collector_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/google/go-cmp/cmp"

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

// TestLister: pages of identities and of objects, the version, and single objects.
func TestLister(t *testing.T) {
	api := newFakeAPI(t)
	api.page = 2
	for i := range 5 {
		api.put("pods", fmt.Sprintf("a/p%d", i), fmt.Sprintf("u%d", i), `"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{}]|"spec":{}`)
	}
	var headers []string
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		headers = append(headers, r.Header.Get("Accept"))
		if r.URL.Query().Get("continue") == "4" && len(headers) == 3 {
			w.WriteHeader(http.StatusGone) // the token has expired; another one goes on at the present
			_, _ = fmt.Fprint(w, strings.Replace(statusJSON(410, "Expired", "too old"), `"metadata":{}`, `"metadata":{"continue":"3"}`, 1))
			return true
		}
		return false
	}
	l := newLister(t, api, collector.Config{})
	var got []collector.Identity
	version, err := l.RawMetadata(t.Context(), pods, func(id collector.Identity, _ []byte) error {
		got = append(got, id)
		return nil
	})
	if err != nil || version != "105" {
		t.Errorf("version %q, %v", version, err)
	}
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var want []collector.Identity
	for _, i := range []int{0, 1, 2, 3, 3, 4} { // the new token goes on one earlier here
		key := object.Key{Kind: "Pod", Namespace: "a", Name: fmt.Sprint("p", i)}
		want = append(want, collector.Identity{Key: key, UID: fmt.Sprint("u", i), ResourceVersion: uint64(101 + i), Created: created})
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("identities (-want +got):\n%s", d)
	}
	if !strings.Contains(headers[0], "as=PartialObjectMetadataList") {
		t.Errorf("Accept: %s", headers[0])
	}
	n := 0
	if _, err := l.Objects(t.Context(), pods, func(o *object.Object) error {
		n++
		if strings.Contains(string(o.JSON()), "managedFields") {
			t.Errorf("%s is not prepared", o.JSON())
		}
		return nil
	}); err != nil || n != 5 {
		t.Errorf("%d objects, %v", n, err)
	}
	if version, err := l.Version(t.Context(), pods); err != nil || version != "105" {
		t.Errorf("version %q, %v", version, err)
	}
	key := object.Key{Kind: "Pod", Namespace: "a", Name: "p3"}
	if o, err := l.Get(t.Context(), pods, key); err != nil || o.UID != "u3" || o.ResourceVersion != 104 {
		t.Errorf("get: %v, %v", o, err)
	}
	key.Name = "none"
	if _, err := l.Get(t.Context(), pods, key); !apierrors.IsNotFound(err) {
		t.Errorf("get of what is not there: %v", err)
	}
}
