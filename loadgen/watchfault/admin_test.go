package watchfault_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

func TestAdmin(t *testing.T) {
	in := watchfault.NewInjector(1)
	in.Hold()
	admin := in.AdminHandler()
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string // the faults in force, or the error
	}{
		{"GET", "/faults", "", 200, ""},
		{"POST", "/faults", " 503:1%, close(5s)\n", 200, "1 503:1%; 2 close(5s)"},
		{"POST", "/faults", "explode", 400, "unknown fault explode"},
		{"POST", "/faults", strings.Repeat(" ", 70_000), 400, "too large"},
		{"DELETE", "/faults?id=7", "", 400, "no such fault"},
		{"DELETE", "/faults?id=x", "", 400, "want the number"},
		{"DELETE", "/faults?id=1", "", 200, "2 close(5s)"},
		{"POST", "/start", "", 200, "2 close(5s)"},
		{"DELETE", "/faults", "", 200, ""},
		{"PUT", "/faults", "", 405, ""},
	} {
		rec := httptest.NewRecorder()
		admin.ServeHTTP(rec, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))
		if rec.Code != tt.status {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, rec.Code, rec.Body)
		}
		if rec.Code != http.StatusOK {
			if !strings.Contains(rec.Body.String(), tt.want) {
				t.Errorf("%s %s: %s, want %q", tt.method, tt.path, rec.Body, tt.want)
			}
			continue
		}
		var infos []faultlist.Info
		if err := json.Unmarshal(rec.Body.Bytes(), &infos); err != nil || infos == nil {
			t.Fatalf("%s %s: %v %s", tt.method, tt.path, err, rec.Body)
		}
		var got []string
		for _, f := range infos {
			got = append(got, string(rune('0'+f.ID))+" "+f.Spec)
		}
		if d := cmp.Diff(tt.want, strings.Join(got, "; ")); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.method, tt.path, d)
		}
	}
}
