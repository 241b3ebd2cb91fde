package check

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

var update = flag.Bool("update", false, "rewrite the golden files")

// life of one Pod that is created, changed twice and deleted.
var onePod = []string{
	"10 create web u1 100", "20 running web u1 105", "30 patch web u1 110",
}

var recreated = append(slices.Clone(onePod), "40 delete web u1", "50 create web u2 120", "60 running web u2 125")

// writeCheck keeps failures and notes that carry figures, not the routine reasons for judging nothing.
func writeCheck(b *strings.Builder, name, guarantee string, c result.Check) {
	switch c.Verdict {
	case result.Fail:
		fmt.Fprintf(b, "%s / %s: %d of %d: %s\n", name, guarantee, c.Violations, c.Judged, c.Counterexample)
	case result.Pass:
		if c.Note != "" && !strings.HasPrefix(c.Note, "the watcher gives no counters") {
			fmt.Fprintf(b, "%s / %s: passed: %s\n", name, guarantee, c.Note)
		}
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", path, lineDiff(string(want), got))
	}
}

func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for i := range max(len(w), len(g)) {
		var a, c string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			c = g[i]
		}
		if a != c {
			fmt.Fprintf(&b, "-%s\n+%s\n", a, c)
		}
	}
	return b.String()
}

func mustJudge(t testing.TB, h *History) *Verdict {
	t.Helper()
	v, err := Judge(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(v.Checks)); len(got) != len(Guarantees) {
		t.Fatalf("checks %v", got)
	}
	for g, c := range v.Checks {
		if c.Judged == 0 && c.Verdict != result.NotJudged {
			t.Errorf("%s judged nothing and says %s", g, c.Verdict)
		}
		if c.Verdict == result.Fail && c.Counterexample == "" {
			t.Errorf("%s failed without a counterexample", g)
		}
		if c.Verdict == result.NotJudged && c.Note == "" {
			t.Errorf("%s is not judged and does not say why", g)
		}
	}
	return v
}

func failing(v *Verdict) []string {
	var all []string
	for _, g := range Guarantees {
		if v.Checks[g].Verdict == result.Fail {
			all = append(all, g)
		}
	}
	return all
}

// TestInFlightAtTheCut: what was under way when the watcher of a cut cell was killed shows nothing of its fence.
func TestInFlightAtTheCut(t *testing.T) {
	for cut, want := range map[bool]string{true: result.NotJudged, false: result.Pass} {
		s := story{
			ops: onePod, requests: []string{"15 PUT web u1 100", "25 PUT web u1 105 late", "35 PUT web u1 110 late"},
			meta: Meta{Cut: cut, StorageTimeout: 5e9}, marks: []history.Mark{{Time: at(40), What: history.MarkKilled}},
		}
		if got := mustJudge(t, s.history(t)).Checks["G10"]; got.Verdict != want {
			t.Errorf("cut %v: %+v, want %s", cut, got, want)
		}
	}
}
