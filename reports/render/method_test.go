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
			[]string{"the same for cells with the same load settings", "so the times follow the answers", "closed loop (each thread waits for its answer before"},
			[]string{"intended", "within the duration", "pauses", "open loop", "The plan sets the times"}},
		{"closed loop that time ends", runOf(local, result.Load{Model: result.ModelClosed, Timed: true, ThinkS: 0.5}),
			[]string{"how much is written within the duration, follow", "and pauses for 0.50 s before"}, []string{"the same for cells"}},
		{"open loop", runOf(local, open), []string{"The plan sets the times, too", "due at a fixed rate"}, []string{"follow the answers", "a slow apiserver"}},
		{"hot keys in a closed loop", runOf(local, result.Load{Model: result.ModelClosed, HotBurst: 8}),
			[]string{"was answered, or all of a burst to one Pod, so the times", "before the next write; 8 at a time go to a hot Pod at once"}, nil},
		{"hot keys in an open loop", runOf(local, result.Load{Model: result.ModelOpen, HotBurst: 8}),
			[]string{"one after the other, except that 8 at a time go to a hot Pod at once"}, []string{"one after the other)"}},
		{"no hot keys", runOf(local, open, closed), nil, []string{"burst", "hot"}},
		{"both", runOf(local, open, closed), []string{"In the open loop the plan sets", "In the closed loop a thread"}, nil},
		{"poisson", runOf(local, result.Load{Model: result.ModelOpen, Arrival: "poisson"}), []string{"at random times around a mean rate"}, []string{"fixed rate"}},
		{"ramp", runOf(local, result.Load{Model: result.ModelOpen, Arrival: "ramp"}), []string{"at a rate that changes steadily"}, []string{"fixed rate"}},
		{"burst", runOf(local, result.Load{Model: result.ModelOpen, Arrival: "burst"}), []string{"due in bursts"}, []string{"fixed rate"}},
		{"a record that does not tell the arrival", runOf(local, result.Load{Model: result.ModelOpen}), []string{"due when the plan says"}, []string{"fixed rate"}},
		{"no warm-up", runOf(local, closed), []string{"Phases: prepare, load, drain, check."}, []string{"warm-up", "faults", "shuffled"}},
		{"warm-up", runOf(local, result.Load{Model: result.ModelClosed, Warmup: 60}), []string{"prepare, warm-up (not counted), load"}, nil},
		{"two cells", runOf(local, closed, closed), []string{"cells ran in a shuffled order"}, nil},
		{"faults", with(runOf(local, closed), func(r *result.Results) { r.Cells[0].Faults = map[string]int64{"503": 4} }), []string{"load with faults"}, nil},
		{"events", with(runOf(local, closed), func(r *result.Results) { r.Scenario["events"] = []any{map[string]any{"what": "sigkill"}} }), []string{"load with faults"}, nil},
		{"watch faults", with(runOf(local, closed), func(r *result.Results) { r.Scenario["watch"] = map[string]any{"faults": []any{"close"}} }), []string{"load with faults"}, nil},
		{"no load", with(runOf(local, closed), func(r *result.Results) { r.Scenario["fault"] = map[string]any{"refused": true} }),
			[]string{"No load"}, []string{"Phases", "One plan", "mock with"}},
		{"local", runOf(local, closed),
			[]string{"all processes ran on one host", "apiserver, etcd, generator, watcher and storage mock shared 2 CPUs", "etcd ran without fsync", "without priority and fairness"},
			[]string{"not started by this run", "kept to CPUs"}},
		{"fsync", runOf(result.Environment{Provider: "embedded", EtcdFlags: []string{"--data-dir=x"}}, closed), []string{"etcd ran with fsync"}, []string{"without fsync", "Whether etcd"}},
		{"fsync by its flag", runOf(result.Environment{Provider: "embedded", EtcdFlags: []string{"--unsafe-no-fsync=false"}}, closed), []string{"etcd ran with fsync"}, []string{"without fsync", "Whether etcd"}},
		{"a cluster elsewhere", runOf(result.Environment{Provider: "kubeconfig", CPUs: 2}, closed),
			[]string{"One clock: generator, watcher and storage mock ran on one host", "the control plane was not started by this run", "Whether etcd waited for its disk is not known"},
			[]string{"all processes", "apiserver, etcd", "fsync"}},
		{"pinned", runOf(result.Environment{Provider: "embedded", CPUs: 4, Pinned: map[string]string{"watcher": "3", "etcd": "0-1", "kube-apiserver": "0-1"}}, closed),
			[]string{"etcd, kube-apiserver: 0-1; watcher: 3", "out of 4 CPUs"}, []string{"shared 4 CPUs"}},
		{"storage", with(runOf(local, closed), func(r *result.Results) { r.Cells[0].Storage.LatencySpec = "87ms" }),
			[]string{"a configured latency of 87ms", "served by its own clock"}, nil},
		{"one repetition", runOf(local, closed, closed), nil, []string{"each repetition has its own", "reverse"}},
		{"repetitions", with(runOf(local, closed, closed, closed), func(r *result.Results) {
			r.Cells[1].Params, r.Cells[1].Repetition = r.Cells[0].Params, 2
		}), []string{"every second repetition in the reverse of the one before", "each repetition has its own"}, nil},
		{"different loads only", with(runOf(local, closed, closed), func(r *result.Results) {
			for i, l := range []string{"light", "heavy"} {
				r.Cells[i].Params = map[string]string{result.ParamLoad: l}
			}
		}), []string{"derived from the seed."}, []string{"the same for cells"}},
		{"no cell", runOf(local), []string{"One clock"}, []string{"One plan", "Load model"}},
		{"floor", with(runOf(local, open, open), func(r *result.Results) { r.Cells[1].Watcher.Command = []string{"/bin/watchfloor", "-f", "x"} }),
			[]string{"The floor is a relay"}, nil},
		{"no floor", runOf(local, open), nil, []string{"floor"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Join(arrange(tt.res).Method(), "\n")
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
