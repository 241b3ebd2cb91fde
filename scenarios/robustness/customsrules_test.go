package robustness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestCustomFacts: the longest time of each event counts, and one that storage did not follow fails C.
func TestCustomFacts(t *testing.T) {
	facts := func(deeds ...history.Deed) (missed result.Fact, times map[string]float64) {
		c := matrixtest.Case(&spec.Fault{}, spec.Event{What: crdAdd})
		c.Deeds = deeds
		all, times := matrixtest.Facts(t, c, (&customs{}).rules, nil, nil), map[string]float64{}
		for _, f := range all[1:] {
			times[f.Name] = f.Value
		}
		return all[0], times
	}
	missed, times := facts(matrixtest.Deed(t, crdSwitch, 3, follow{Seconds: 1}), matrixtest.Deed(t, crdSwitch, 3, follow{Seconds: 3}), matrixtest.Deed(t, crdAdd, 6, follow{Seconds: 2}))
	if want := map[string]float64{"until storage followed crd-switch": 3, "until storage followed crd-add": 2}; !missed.OK || !cmp.Equal(times, want) {
		t.Errorf("%+v, %v", missed, times)
	}
	missed, _ = facts(matrixtest.Deed(t, crdAdd, 0, follow{}), matrixtest.Deed(t, crdRemove, 0, follow{Behind: "a is in storage"}))
	if missed.OK || missed.Value != 1 || !strings.Contains(missed.Detail, "crd-remove: a is in storage") {
		t.Errorf("%+v", missed)
	}
	if missed, _ = facts(); missed.OK {
		t.Errorf("nothing was waited for: %+v", missed)
	}
	if rules, err := (&customs{}).rules(matrixtest.Case(&spec.Fault{})); err != nil || len(rules) != 0 {
		t.Errorf("a cell without custom resources: %d rules, %v", len(rules), err)
	}
}
