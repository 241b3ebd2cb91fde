package check

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// storyCase is a story of a file, and what must come of it.
type storyCase struct {
	name  string
	story story
	fails string // guarantees, "G2 G3"; all others must not fail
	lost  int64
	// without is what fails without the op log and the counters.
	without string
}

// namedOps are those that many stories share.
var namedOps = map[string][]string{
	"onePod": onePod, "deleted": recreated[:4], "recreated": recreated, "rollout": rollout, "undone": undoneOps,
	"replaced": append(slices.Clone(rollout), "40 delete ReplicaSet:web-1 r1 110 witnessed", "50 create ReplicaSet:web-1 r2 130 witnessed"),
}

// storiesOf reads a file below testdata, in which times are milliseconds after t0.
func storiesOf(t *testing.T, file string) (all []storyCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var told []struct {
		Name, Fails, Without         string
		Lost                         int64
		Ops                          json.RawMessage
		Requests, Apiserver, Storage []string
		NoOps, NoState               bool
		Marks                        []history.Mark
		Meta                         struct {
			Meta
			Pods        *result.Events `json:"pods"`
			ReplicaSets *result.Events `json:"replicaSets"`
		}
	}
	if err := yaml.UnmarshalStrict(data, &told); err != nil {
		t.Fatal(err)
	}
	for _, x := range told {
		m := x.Meta.Meta
		for kind, e := range map[string]*result.Events{"Pod": x.Meta.Pods, "ReplicaSet": x.Meta.ReplicaSets} {
			if e != nil {
				m.Counters = &Counters{Total: *e, Kinds: map[string]result.Events{kind: *e}}
			}
		}
		times := []*int64{&m.WatcherReady, &m.Until}
		if m.Counters != nil {
			times = append(times, &m.Counters.ScrapeStarted, &m.Counters.ScrapeFinished)
		}
		for i := range x.Marks {
			times = append(times, &x.Marks[i].Time)
		}
		for _, ms := range times {
			if *ms != 0 {
				*ms = at(*ms)
			}
		}
		s := story{requests: x.Requests, meta: m, noState: x.NoState, apiserver: x.Apiserver, storage: x.Storage, noOps: x.NoOps, marks: x.Marks}
		var named string
		if json.Unmarshal(x.Ops, &named) == nil {
			s.ops = namedOps[named]
		} else if err := json.Unmarshal(x.Ops, &s.ops); err != nil && x.Ops != nil {
			t.Fatal(err)
		}
		all = append(all, storyCase{name: x.Name, story: s, fails: x.Fails, lost: x.Lost, without: x.Without})
	}
	return all
}

// TestStories judges the stories of each file; what is said of some of them is kept.
func TestStories(t *testing.T) {
	for _, f := range []struct {
		file, golden string
		guarantees   []string
	}{
		{"order.yaml", "counterexamples.golden", Guarantees}, {"accounts.yaml", "accounts.golden", []string{"G6", "G14"}},
		{"restored.yaml", "", nil}, {"witnessed.yaml", "", nil},
	} {
		var golden strings.Builder
		for _, c := range storiesOf(t, f.file) {
			t.Run(c.name, func(t *testing.T) {
				v := mustJudge(t, c.story.history(t))
				if got := failing(v); !slices.Equal(got, strings.Fields(c.fails)) {
					t.Errorf("failing %v, want %s", got, c.fails)
					for _, g := range got {
						t.Logf("%s: %s", g, v.Checks[g].Counterexample)
					}
				}
				for _, g := range f.guarantees {
					writeCheck(&golden, c.name, g, v.Checks[g])
				}
				if f.file != "witnessed.yaml" {
					return
				}
				if v.Lost == nil || *v.Lost != c.lost {
					t.Errorf("lost %v, want %d", v.Lost, c.lost)
				}
				h := c.story.history(t)
				h.Ops, h.Counters = items([]oplog.Record{}), nil
				if got := strings.Join(failing(mustJudge(t, h)), " "); got != c.without {
					t.Errorf("without the witness failing %q, want %q", got, c.without)
				}
			})
		}
		if f.golden != "" {
			compareGolden(t, f.golden, golden.String())
		}
	}
}
