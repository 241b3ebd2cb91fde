package render

import (
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/watchbench/watchbench/reports/result"
)

// shapes are runs of every kind, by what is special about them.
func shapes(t *testing.T) map[string]*result.Results {
	t.Helper()
	three := func() *result.Results {
		return measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "single": {100, 101, 102}})
	}
	every := func(res *result.Results, by func(*result.Cell)) *result.Results {
		for i := range res.Cells {
			by(&res.Cells[i])
		}
		return res
	}
	invalid := func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"storage was late"} }
	fails := func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 3, Judged: 9} }
	keyed, slow := paced{"keyed", "20", 0.4, 0.62, 1}, paced{"keyed", "10", 81, 9, 1}
	all := map[string]*result.Results{
		"fixture": fixture(t), "closed": three(),
		"closed, measured once": measured(map[string][]float64{"dedup": {5}, "keyed": {9}}),
		"one cell":              measured(map[string][]float64{"keyed": {9}}),
		"no cell":               {Schema: result.Schema},
		"all invalid":           every(three(), invalid),
		"all invalid, one failed": change(every(three(), invalid), "keyed", func(c *result.Cell) {
			c.Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 2, Judged: 5}
		}),
		"one failed":             change(three(), "dedup", fails),
		"all failed":             every(three(), fails),
		"interrupted":            ordered(three(), "dedup-r1", "keyed-r1", "partitioned-r1"),
		"open":                   sized(keyed, slow),
		"open, nothing keeps up": sized(slow),
		"sweep":                  swept("storage.latency", "10ms", "20ms", "40ms"),
		"reference":              besides(),
		"growth":                 {Schema: result.Schema, Cells: three().Cells, Growth: &result.Growth{Rungs: []result.Rung{{Point: "1k", Objects: 1000, Valid: 1, Stored: new(1.5)}}, Memory: &result.Slope{Exponent: 0.98, Rungs: 4}}},
		"faults":                 every(three(), func(c *result.Cell) { c.Faults = map[string]int64{"503": 4} }),
	}
	all["interrupted"].Run.Interrupted = true
	return all
}

func TestAnswerGolden(t *testing.T) {
	all := shapes(t)
	var b strings.Builder
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range all {
			if !yield(n) {
				return
			}
		}
	}) {
		s := arrange(all[name]).Answer()
		if n := len(slices.DeleteFunc(strings.Fields(s), func(w string) bool {
			return !strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		})); n > 110 {
			t.Errorf("%s: %d words", name, n)
		}
		fmt.Fprintf(&b, "%s: %s\n\n", name, s)
	}
	golden(t, "answers.golden", []byte(b.String()))
}

// TestAnswerAgrees makes random records: what the paragraph names as fastest has the
// headline, a failed run begins with that, and one that is all invalid claims no speed.
func TestAnswerAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	strategies := []string{"dedup", "keyed", "single"}
	for range 2000 {
		drains := map[string][]float64{}
		for _, s := range strategies[:1+rng.IntN(3)] {
			for range 1 + rng.IntN(4) {
				drains[s] = append(drains[s], 1+100*rng.Float64())
			}
		}
		res := measured(drains)
		for i := range res.Cells {
			c := &res.Cells[i]
			if rng.IntN(4) == 0 {
				c.Valid, c.InvalidReasons = false, []string{"late"}
			}
			if rng.IntN(6) == 0 {
				verdict := []string{result.Fail, result.Allowed, result.NotJudged, result.NoPower}[rng.IntN(4)]
				check := result.Check{Verdict: verdict, Judged: 5}
				if verdict == result.Fail || verdict == result.Allowed {
					check.Violations = 1 + rng.Int64N(9)
				}
				c.Checks[fmt.Sprintf("G%d", 1+rng.IntN(6))] = check
			}
		}
		tab := arrange(res)
		s, winners := tab.Answer(), tab.winners()
		for _, r := range tab.rows {
			if says := strings.Contains(s, r.label()+" was fastest"); says != winners[r] {
				t.Fatalf("%s: fastest %v, in winners %v: %s", r.label(), says, winners[r], s)
			}
			if r.state() == stateFailed && !strings.Contains(s, r.label()+" "+misdeeds[r.with(result.Fail)[0]]) {
				if !strings.Contains(s, "more fail") {
					t.Fatalf("%s failed: %s", r.label(), s)
				}
			}
		}
		void := !tab.any(func(c *result.Cell) bool { return c.Valid })
		failed := slices.ContainsFunc(tab.rows, func(r *row) bool { return r.state() == stateFailed })
		switch {
		case void && !strings.HasPrefix(s, "Nothing can be said about speed"):
			t.Fatalf("all are invalid: %s", s)
		case failed && !void && !strings.HasPrefix(s, "Not correct: "):
			t.Fatalf("a check failed: %s", s)
		case (void || failed) && strings.Contains(s, "Nothing was lost"):
			t.Fatalf("good news: %s", s)
		}
		var shown []string
		for _, h := range tab.Headlines() {
			shown = append(shown, h.Sentence)
		}
		for _, r := range tab.rows {
			shown = append(shown, drain.text(drain.measure(r)))
		}
		for _, n := range regexp.MustCompile(`\d+\.\d+`).FindAllString(s, -1) {
			if !strings.Contains(strings.Join(shown, " "), n) {
				t.Fatalf("%s stands nowhere else: %s", n, s)
			}
		}
		if strings.Contains(s, "%!") || strings.Contains(s, "..") {
			t.Fatal(s)
		}
	}
}

// TestAnswerIsFirst: nothing with a figure stands above it, and it says hostile names as text.
func TestAnswerIsFirst(t *testing.T) {
	res := fixture(t)
	for i := range res.Cells {
		if res.Cells[i].Params[result.ParamLoad] == "heavy" {
			res.Cells[i].Params[result.ParamLoad] = "<b>|heavy\n"
		}
	}
	for name, write := range map[string]func(io.Writer, *result.Results) error{"page": HTML, "md": Markdown} {
		var b strings.Builder
		if err := write(&b, res); err != nil {
			t.Fatal(err)
		}
		answer := strings.Index(b.String(), "Not correct: partitioned under light")
		if answer < 0 || strings.Contains(b.String()[answer:], "<b>|heavy") {
			t.Errorf("%s: answer at %d, or a name that is no text", name, answer)
		}
		for _, later := range []string{"keyed drained fastest", `class="cards"`, "Of 10 points"} {
			if i := strings.Index(b.String(), later); i >= 0 && i < answer {
				t.Errorf("%s: %q comes before the answer", name, later)
			}
		}
	}
}
