package shape_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// bodies are what a generator with a part of a plan sends, by type, object and how often that came before.
func bodies(t *testing.T, p *plan.Plan, into map[string]string) {
	t.Helper()
	m := newMaker()
	for _, ops := range []iter.Seq[plan.Op]{p.Setup(), p.Timed()} {
		for op := range ops {
			r := m.Request(op, uids{}, start.Add(op.At))
			body, err := json.Marshal([]any{r.Object, string(r.Body), r.Delete})
			if err != nil {
				t.Fatal(err)
			}
			key := ""
			for n := 0; key == "" || into[key] != ""; n++ {
				key = fmt.Sprintln(op.Type, op.Target.Kind, op.Target.Namespace, op.Target.Name, n)
			}
			into[key] = string(body)
		}
	}
}

// TestGeneratorsSendWhatOneSends: the bodies of four generators are those of one, to the byte, although each begins with
// other objects.
func TestGeneratorsSendWhatOneSends(t *testing.T) {
	for _, profile := range []string{"", plan.ProfileMixedProduction} {
		cfg := plan.Default()
		cfg.Seed, cfg.RunID, cfg.Model, cfg.Profile = 7, "r", plan.ModelOpen, profile
		cfg.Rate, cfg.Duration, cfg.Nodes, cfg.Prefill, cfg.Namespaces = 2, units.Duration(10*time.Second), 20, 12, 11
		if profile != "" {
			cfg.Tuning = &plan.Tuning{TimeScale: 100}
		}
		p, err := plan.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		one, four := map[string]string{}, map[string]string{}
		bodies(t, p, one)
		for i := range 4 {
			bodies(t, p.Part(plan.Shard{Index: i + 1, Of: 4}), four)
		}
		differ := 0
		for key, want := range one {
			if four[key] != want {
				if differ++; differ == 1 {
					t.Errorf("%q: %s: four generators send\n%s\none\n%s", profile, key, four[key], want)
				}
			}
		}
		if differ > 0 || len(one) != len(four) || len(one) < 50 {
			t.Errorf("%q: %d of %d bodies differ, four generators send %d", profile, differ, len(one), len(four))
		}
	}
}
