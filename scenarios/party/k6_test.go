package party

import (
	"testing"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// TestExecutor: an arrival rate is for loads whose operations come evenly. Of all others each
// virtual user sends operations until there are no more.
func TestExecutor(t *testing.T) {
	for _, tc := range []struct {
		name, load, executor string
		vus                  int
		arrivals             bool
	}{
		{"open", "model: open\nduration: 60s\nrate: 7.5\n", "constant-arrival-rate", 0, true},
		{"a rate that k6 cannot have", "model: open\nduration: 60s\nrate: 7.0001\n", "per-vu-iterations", MaxVUs, false},
		{"by chance", "model: open\nduration: 60s\nrate: 8\narrival: poisson\n", "per-vu-iterations", MaxVUs, false},
		{"hot pods", "model: open\nduration: 60s\nrate: 8\nhotkeys: {objects: 2, burst: 5, share: 0.1}\n", "per-vu-iterations", MaxVUs, false},
		{"a profile", "model: open\nduration: 60s\nrate: 8\nnodes: 60\nnamespaces: 20\nprofile: service-churn\n", "per-vu-iterations", MaxVUs, false},
		{"a profile, evenly", "model: open\nduration: 60s\nrate: 8\nnodes: 60\nnamespaces: 20\nprofile: service-churn\narrival: constant\n", "per-vu-iterations", MaxVUs, false},
		{"closed, by number", "model: closed\nthreads: 3\noperations: 10000000\nduration: 5s\n", "per-vu-iterations", 3, false},
		{"closed, by time", "model: closed\nthreads: 3\nduration: 5s\n", "per-vu-iterations", 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := plan.Parse("plan", []byte("runID: r1\n"+tc.load))
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, arrivals := executor(p)
			if got["executor"] != tc.executor || arrivals != tc.arrivals || tc.vus > 0 && (got["vus"] != tc.vus || got["iterations"] != 1) {
				t.Errorf("%v, %t", got, arrivals)
			}
		})
	}
}
