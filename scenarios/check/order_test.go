package check

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

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
