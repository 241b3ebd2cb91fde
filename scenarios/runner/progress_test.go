package runner

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestSummarySaysNoMoreThanWasJudged: a cell in few words, on the terminal and the live page.
func TestSummarySaysNoMoreThanWasJudged(t *testing.T) {
	all := func(verdict string) map[string]result.Check {
		checks := map[string]result.Check{}
		for _, g := range result.Core {
			checks[g] = result.Check{Verdict: verdict}
		}
		return checks
	}
	for _, tc := range []struct {
		name, want string
		cell       result.Cell
	}{
		{"passed", ", pass G1–G6", result.Cell{Valid: true, Checks: all(result.Pass)}},
		{"nothing judged", ", G1–G6 not judged", result.Cell{Valid: true, Checks: all(result.NotJudged)}},
		{"no power", ", pass G1 G3–G6, G2 no power", result.Cell{Valid: true, Checks: with(all(result.Pass), "G2", result.NoPower)}},
		{"invalid and wrong", "invalid: late, FAIL G3", result.Cell{InvalidReasons: []string{"late"}, Checks: with(all(result.Pass), "G3", result.Fail)}},
	} {
		if got := summary(tc.cell); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: %q, want …%q", tc.name, got, tc.want)
		}
	}
}

func with(checks map[string]result.Check, g, verdict string) map[string]result.Check {
	checks[g] = result.Check{Verdict: verdict, Violations: 1}
	return checks
}

func TestProgressLines(t *testing.T) {
	for _, live := range []bool{false, true} {
		var out bytes.Buffer
		p := NewProgress(terminal.New(&out, live, nil))
		now := time.Unix(0, 0)
		p.now = func() time.Time { return now }
		jobs := jobsOf(strategies(t, "matrix.watcher.strategy=keyed", "repeat=1"))
		p.begin(jobs, 0)
		p.Line("cluster up")
		for i := range jobs {
			p.cell(i)
			for _, phase := range []string{PhasePrepare, PhaseLoad, PhaseDrain} {
				p.phase(phase)
				now = now.Add(2 * time.Second)
				p.share(0.5)
			}
			qps := 340.0
			p.finished(result.Cell{ID: jobs[i].id, Valid: true, Load: result.Load{QPS: 800}, Storage: result.Storage{QPS: &qps},
				Checks: map[string]result.Check{"G2": {Verdict: result.Fail}}})
		}
		p.end()
		text := out.String()
		for _, w := range []string{
			"cluster up\n", "[2/2] " + jobs[1].id + ": 800 writes/s, storage 340.0/s, FAIL G2\n", "[1/2] " + jobs[0].id + ": load", "% of the run", "s left",
		} {
			if !strings.Contains(text, w) {
				t.Errorf("in place %v: %q lacks %q", live, text, w)
			}
		}
		if strings.Contains(text, "\r") != live || strings.Contains(text, "\x1b") {
			t.Errorf("in place %v: redrawing in %q", live, text)
		}
		if n := strings.Count(text, "\n"); n != map[bool]int{true: 3, false: 7}[live] { // with load and drain of each
			t.Errorf("in place %v: %d lines: %q", live, n, text)
		}
	}
	var silent *Progress
	silent.begin(nil, 0)
	silent.phase(PhaseLoad)
	silent.share(1)
	silent.finished(result.Cell{})
	silent.end()
}

// TestExpectReference holds the guess to what a run took on two cores: docs/published.md.
func TestExpectReference(t *testing.T) {
	name, data, err := scenarios.Read("reference")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Format{}.Parse(name, data, "matrix.load=before-20,before-100,after-20,after-80", "drainTimeout=28s")
	if err != nil {
		t.Fatal(err)
	}
	const took = 9*time.Minute + 7*time.Second
	if guess := Expected(Steps(f)); (guess - took).Abs() > took/5 {
		t.Errorf("%s are expected, the run took %s", guess, took)
	}
}
