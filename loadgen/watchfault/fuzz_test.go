package watchfault_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

// FuzzFrames: whatever a server sends on a watch, in whatever pieces, arrives as it was as long as no fault hits; a
// fault that hits every event breaks nothing.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"p"}}}`+"\n"+`{"type":"BOOKMARK","object":{}}`+"\n"), uint8(7), "unknown:0%")
	f.Add([]byte("\n\n{\"type\":\"ADDED"), uint8(1), "truncate")
	f.Add([]byte(`{"type":"ERROR","object":{}}`+"\n"), uint8(200), "410(mid)")
	f.Add([]byte(`{"type":"DELETED","object":{"metadata":{"namespace":7}}}`+"\n"), uint8(3), "junk")
	f.Fuzz(func(t *testing.T, data []byte, piece uint8, faults string) {
		in := watchfault.NewInjector(1)
		specs, err := watchfault.Parse(faults)
		if err != nil || len(specs) != 1 || specs[0].RetryAfter+specs[0].Delay+specs[0].After+specs[0].Until+specs[0].Hold+specs[0].For > 0 {
			return
		}
		s := specs[0]
		switch s.Effect {
		case watchfault.Truncate, watchfault.Unknown, watchfault.Junk, watchfault.MidGone, watchfault.ErrorEvent:
		default:
			return
		}
		if err := in.Add(faults); err != nil {
			t.Fatal(err)
		}
		h := in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for rest := data; len(rest) > 0; {
				n := min(len(rest), int(piece)+1)
				if _, err := w.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://apisim/api/v1/pods?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := pipetest.Direct(h).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if in.List()[0].Fired == 0 && string(got) != string(data) {
			t.Fatalf("sent %q, arrived %q", data, got)
		}
	})
}
