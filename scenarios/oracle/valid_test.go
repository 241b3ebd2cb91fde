package oracle

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// validity computes whether the cell may be believed.
func (r *record) validity(t *testing.T, a answers, w window) {
	number := func(path string) float64 {
		v, ok := a[path].(float64)
		if !ok {
			return nan
		}
		return v
	}
	limits := r.cell.Scenario.Limits
	valid := number("load.done") >= share(t, limits.MinEvents)*number("load.planned")
	if r.cell.Scenario.Load.Model == "open" {
		most, err := time.ParseDuration(limits.Lag)
		if err != nil {
			t.Fatal(err)
		}
		valid = valid && number("load.lagMs.p99") <= most.Seconds()*1e3
		valid = valid && number("load.qps") >= share(t, limits.MinOffered)*number("load.offeredQPS")
	}
	for _, f := range append(r.cell.Fired, r.cell.WatchFired...) {
		valid = valid && f.Fired > 0
	}
	if s := r.cell.Scenario.Storage; len(s.Faults) == 0 && s.Capacity.Rate == 0 {
		// A lognormal with p99 at no more than 1.5 times its mean deviates by less than
		// a fifth of it.
		mean := number("storage.latencyMeanMs")
		deviation := 0.2 * mean / math.Sqrt(number("storage.latencyMs.count"))
		if seen := number("storage.latencyMeanSeenMs"); seen > 1.1*mean+3+3*deviation {
			valid = false
		}
	}
	a["valid"] = valid
}

// share reads a part such as 80%, or 0.8.
func share(t *testing.T, v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		n, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n / 100
	}
	t.Fatalf("%v is no share", v)
	return 0
}
