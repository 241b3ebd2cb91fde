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
	local := result.Environment{Provider: "embedded", CPUs: 2, EtcdFlags: []string{"--unsafe-no-fsync=true"}}
	closed, open := result.Load{Model: result.ModelClosed, Threads: 10}, result.Load{Model: result.ModelOpen}
	for _, tt := range []struct {
		name     string
		res      *result.Results
		has, not []string
	}{
		{"closed loop", runOf(local, closed, closed), []string{"a slow apiserver", "etcd ran without fsync"}, []string{"intended"}},
		{"open loop", runOf(local, open), []string{"intended time", "One repetition"}, []string{"a slow apiserver"}},
		{"both", runOf(local, open, closed), []string{"intended time", "a slow apiserver"}, nil},
		{"no load", with(runOf(local, closed), func(r *result.Results) { r.Scenario["fault"] = map[string]any{"refused": true} }),
			[]string{"No load"}, []string{"Closed loop", "etcd"}},
		{"fsync", runOf(result.Environment{EtcdFlags: []string{"--unsafe-no-fsync=false"}}, closed), []string{"etcd ran with fsync"}, []string{"without fsync"}},
		{"a cluster elsewhere", runOf(result.Environment{Provider: "kubeconfig"}, closed), []string{"Whether etcd waited for its disk is not known"}, []string{"fsync"}},
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
