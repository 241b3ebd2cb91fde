package render

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// runOf is a record of cells with those loads, each of them a strategy of its own.
func runOf(e result.Environment, loads ...result.Load) *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Environment: e, Scenario: map[string]any{}}
	for i, l := range loads {
		id := string(rune('a' + i))
		res.Cells = append(res.Cells, result.Cell{
			ID: id, Repetition: 1, Valid: true, Load: l, Params: map[string]string{result.ParamStrategy: id}, Checks: map[string]result.Check{},
		})
		res.Run.Order = append(res.Run.Order, id)
	}
	return res
}

// A sentence about the method stands in the reports of the runs of which it is true,
// and in no other.
func TestMethodIsTrueOfTheRun(t *testing.T) {
	local := result.Environment{Provider: "embedded", CPUs: 2, EtcdFlags: []string{"--unsafe-no-fsync=true"}, Flags: []string{"--enable-priority-and-fairness=false"}}
	closed, open := result.Load{Model: result.ModelClosed, Threads: 10}, result.Load{Model: result.ModelOpen, Arrival: "constant"}
	for _, tt := range []struct {
		name     string
		res      *result.Results
		has, not []string
	}{
		{"closed loop", runOf(local, closed, closed),
			[]string{"closed loop (each thread waits for its answer before", "a slow apiserver"},
			[]string{"intended", "pauses", "open loop"}},
		{"a pause", runOf(local, result.Load{Model: result.ModelClosed, ThinkS: 0.5}), []string{"and pauses for 0.50 s before"}, nil},
		{"open loop", runOf(local, open), []string{"due at a fixed rate", "intended time"}, []string{"a slow apiserver", "burst", "hot"}},
		{"hot keys", runOf(local, result.Load{Model: result.ModelClosed, HotBurst: 8}), []string{"before the next write; 8 at a time go to a hot Pod at once"}, nil},
		{"both", runOf(local, open, closed), []string{"closed loop (", "and open loop ("}, nil},
		{"poisson", runOf(local, result.Load{Model: result.ModelOpen, Arrival: "poisson"}), []string{"at random times around a mean rate"}, []string{"fixed rate"}},
		{"a record that does not tell the arrival", runOf(local, result.Load{Model: result.ModelOpen}), []string{"due when the plan says"}, []string{"fixed rate"}},
		{"no load", with(runOf(local, closed), func(r *result.Results) { r.Scenario["fault"] = map[string]any{"refused": true} }),
			[]string{"No load"}, []string{"Load model", "etcd"}},
		{"local", runOf(local, closed),
			[]string{"apiserver, etcd, generator, watcher and storage mock shared 2 CPUs", "etcd ran without fsync", "without priority and fairness"},
			[]string{"not the control plane", "kept to its own", "floor"}},
		{"fsync", runOf(result.Environment{Provider: "embedded", EtcdFlags: []string{"--unsafe-no-fsync=false"}}, closed), []string{"etcd ran with fsync"}, []string{"without fsync", "Whether etcd"}},
		{"a cluster elsewhere", runOf(result.Environment{Provider: "kubeconfig", CPUs: 2}, closed),
			[]string{"generator, watcher and storage mock, but not the control plane, shared 2", "Whether etcd waited for its disk is not known"}, []string{"apiserver, etcd", "fsync"}},
		{"pinned", runOf(result.Environment{Provider: "embedded", CPUs: 4, Pinned: map[string]string{"watcher": "3", "etcd": "0-1", "kube-apiserver": "0-1"}}, closed),
			[]string{"shared 4 CPUs, each party kept to its own (etcd 0-1, kube-apiserver 0-1, watcher 3)"}, nil},
		{"floor", with(runOf(local, open, open), func(r *result.Results) { r.Cells[1].Watcher.Command = []string{"/bin/watchfloor", "-f", "x"} }),
			[]string{"The floor is a relay"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Join((method{arrange(tt.res)}).section().Notes, "\n")
			for _, s := range tt.has {
				if !strings.Contains(text, s) {
					t.Errorf("%q is missing in\n%s", s, text)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(text, s) {
					t.Errorf("%q is there and untrue in\n%s", s, text)
				}
			}
		})
	}
}

func with(res *result.Results, change func(*result.Results)) *result.Results {
	change(res)
	return res
}
