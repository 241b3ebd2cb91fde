package runner

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/loadgen/plan"
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
		{"passed", ", checks pass", result.Cell{Valid: true, Checks: all(result.Pass)}},
		{"nothing judged", ", no check failed, G1 G2 G3 G4 G5 G6 not judged", result.Cell{Valid: true, Checks: all(result.NotJudged)}},
		{"no power", ", no check failed, G2 without power", result.Cell{Valid: true, Checks: with(all(result.Pass), "G2", result.NoPower)}},
		{"invalid and wrong", "invalid: late, G3 failed", result.Cell{InvalidReasons: []string{"late"}, Checks: with(all(result.Pass), "G3", result.Fail)}},
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

// narrow is a screen of so many columns.
func narrow(w io.Writer, columns int) *terminal.Screen {
	return terminal.New(w, true, func() int { return columns })
}

func TestProgressLines(t *testing.T) {
	for _, live := range []bool{false, true} {
		var out bytes.Buffer
		p := NewProgress(terminal.New(&out, live, nil))
		now := time.Unix(0, 0)
		p.now = func() time.Time { return now }
		jobs := order(strategies(t, "matrix.watcher.strategy=keyed").Cells(), plainly(1, 1))
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
			"cluster up\n", "[2/2] " + jobs[1].id + ": 800 writes/s, storage 340.0/s, G2 failed\n", "[1/2] " + jobs[0].id + ": load", "% of the run", "s left",
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
	silent.wrote(1)
	silent.sampled(nil, nil)
	silent.finished(result.Cell{})
	silent.end()
}

// TestProgressFits: whatever the width and the names, the line has room, and the phase and the
// time left are there as long as they have.
func TestProgressFits(t *testing.T) {
	for columns := 20; columns < 200; columns += 7 {
		for _, name := range []string{"", strings.Repeat("監視", 30), strings.Repeat("e\u0301", 60)} {
			p := NewProgress(narrow(io.Discard, columns))
			p.begin(order(strategies(t, "matrix.load=light").Cells(), plainly(1, 1)), 0)
			p.jobs[0].id += name
			p.cell(0)
			p.note(strings.Repeat("something long ", 10))
			p.phase(PhaseLoad)
			p.share(0.5)
			text := p.text(columns - 1)
			if n := terminal.Columns(text); n >= columns && columns >= 40 {
				t.Errorf("%d columns of %d: %q", n, columns, text)
			}
			if columns >= 80 && (!strings.Contains(text, ": load 50%") || !strings.Contains(text, " left")) {
				t.Errorf("in %d columns: %q", columns, text)
			}
		}
	}
}

// TestProgressRates: how fast it goes is that of the last seconds, and nothing is said of what
// is not known or no longer read.
func TestProgressRates(t *testing.T) {
	p := NewProgress(narrow(io.Discard, 200))
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	p.begin(order(strategies(t, "matrix.load=light").Cells(), plainly(1, 1)), 0)
	p.cell(0)
	p.phase(PhaseLoad)
	backlog := 70.0
	for i := range 9 {
		requests := float64(50 * i)
		p.wrote(int64(300 * i))
		p.sampled(&requests, &backlog)
		now = now.Add(time.Second)
	}
	if s := p.text(199); !strings.Contains(s, "300 writes/s, storage 50/s, backlog 70") {
		t.Error(s)
	}
	p.phase(PhaseDrain)
	if s := p.text(199); strings.Contains(s, "writes/s") || !strings.Contains(s, "storage 50/s") {
		t.Error("after the load:", s)
	}
	now = now.Add(time.Minute)
	p.sampled(nil, nil)
	if s := p.text(199); strings.Contains(s, "storage") || strings.Contains(s, "backlog") {
		t.Error("unknown:", s)
	}
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

// TestExpectCountsTheBystander: its backlog is waited for like that of the load.
func TestExpectCountsTheBystander(t *testing.T) {
	s := strategies(t, "matrix.load=light", "storage.latency=100ms", "drainTimeout=1h").Cells()[0].Scenario
	s.Load.Threads, s.Load.Operations, s.Load.Duration = 1, 0, spec.Duration(10*time.Second)
	without := expect(s)
	s.Load.Bystander = &plan.Bystander{Kind: "ConfigMap", Rate: 110, Objects: 20}
	if d := expect(s); d < 114*time.Second || d <= without {
		t.Errorf("1100 updates, one by one for 100 ms each, take %s with the load; without them it is %s", d, without)
	}
}
