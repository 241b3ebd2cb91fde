package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// across is a record of one strategy at two values of another axis.
func across(axis string, drains map[string][]float64) *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}}
	for value, seconds := range drains {
		for i, s := range seconds {
			c := drained(s)
			c.ID, c.Repetition = fmt.Sprintf("%s-r%d", value, i+1), i+1
			c.Params = map[string]string{result.ParamStrategy: "keyed", axis: value}
			c.Load.Model, c.Load.Done, c.Storage.Requests = result.ModelClosed, 100, 100
			res.Cells = append(res.Cells, c)
		}
	}
	return res
}

// TestNoWinnerAcrossConditions: rows are compared only where the watcher alone differs. A
// slower storage or another number of threads is no slower watcher.
func TestNoWinnerAcrossConditions(t *testing.T) {
	drains := map[string][]float64{"1": {5, 5.1, 5.2}, "2": {50, 51, 52}}
	for axis, want := range map[string]bool{
		"watcher.podQueueNum": true, "watcher": true,
		"storage.latency": false, "storage": false, "load.threads": false, "load.objectBytes": false,
	} {
		named := false
		for _, h := range arrange(across(axis, drains)).Headlines() {
			named = named || h.best != nil
			t.Logf("%s: %s", axis, h.Sentence)
		}
		if named != want {
			t.Errorf("%s: a winner is named: %v, want %v", axis, named, want)
		}
	}
}

// TestWinnerIsJudged: a row whose checks could judge nothing is not correct, and one whose
// order was not put to the test is not called so without saying it.
func TestWinnerIsJudged(t *testing.T) {
	three := func(verdict string, checks ...string) []headline {
		res := measured(map[string][]float64{"unordered": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}})
		return arrange(change(res, "unordered", func(c *result.Cell) {
			for _, g := range checks {
				c.Checks[g] = result.Check{Verdict: verdict}
			}
		})).Headlines()
	}
	for _, verdict := range []string{result.NotJudged, result.NotApply} {
		if h := three(verdict, "G1")[0]; h.best != nil || h.Note != "only keyed may be compared" {
			t.Errorf("%s: %s", verdict, h.Sentence)
		}
	}
	h := three(result.NoPower, "G2", "G4")[0]
	if h.best == nil || !strings.HasSuffix(h.Sentence, "than keyed. Not put to the test, for want of power: unordered (G2 G4).") {
		t.Error(h.Sentence)
	}
}
