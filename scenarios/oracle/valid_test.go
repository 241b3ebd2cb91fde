package oracle

import (
	"math"
	"regexp"
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
		valid = valid && number("load.qps") >= share(t, limits.MinOffered)*number("load.plannedQPS")
	}
	for _, f := range append(r.cell.Fired, r.cell.WatchFired...) {
		valid = valid && f.Fired > 0
	}
	if r.cell.Scenario.Fault != nil {
		valid = valid && r.hitEnough()
	}
	valid = valid && !r.contradicts()
	s := r.cell.Scenario.Storage
	deviation, known := deviationOf(s.Latency)
	limited := s.Capacity.Rate > 0 || s.Capacity.Inflight > 0 && r.concurrency() >= float64(s.Capacity.Inflight)
	if known && len(s.Faults) == 0 && !limited {
		mean := number("storage.latencyMeanMs")
		chance := 3 * deviation * 1e3 / math.Sqrt(number("storage.latencyMs.count"))
		if seen := number("storage.latencyMeanSeenMs"); seen > 1.1*mean+3+chance {
			valid = false
		}
	}
	a["valid"] = valid && r.readersValid(a, share(t, limits.MinEvents))
}

// contradicts says that times of the record cannot all be right. Each pair of writes is looked
// at, where the published validity looks at one before each.
func (r *record) contradicts() bool {
	early := func(effect, cause int64) bool { return effect != 0 && cause != 0 && effect+5e6 < cause }
	for _, x := range r.reads {
		if early(x.Ended, x.Started) || early(x.Started, x.Intended) {
			return true
		}
	}
	received := map[key][]request{}
	for _, e := range r.ledger {
		if early(e.Applied, e.Received) || early(e.Responded, e.Received) {
			return true
		}
		if e.Method == "PUT" && e.acked() && e.took() {
			received[e.key()] = append(received[e.key()], e)
		}
	}
	for i := range r.ops {
		o := &r.ops[i]
		if early(o.Finished, o.Started) || o.Phase != "witnessed" && early(o.Started, o.Intended) {
			return true
		}
		if !o.ok() || o.delete() || o.ResourceVersion == 0 {
			continue
		}
		for _, e := range received[o.key()] {
			if o.counted() && e.UID == o.UID && e.ResourceVersion >= o.ResourceVersion && early(e.Received, o.Started) {
				return true
			}
		}
		for j := range r.ops {
			later := &r.ops[j]
			if later.ok() && !later.delete() && later.Kind == o.Kind && later.ResourceVersion > o.ResourceVersion &&
				later.Type != "bind" && later.Attempt == 0 && early(later.Finished, o.Started) {
				return true
			}
		}
	}
	return false
}

// deviationOf is the standard deviation of a lognormal or constant latency, in seconds;
// false for other distributions. It is by the variance of a lognormal, where the published
// validity goes by draws.
func deviationOf(text string) (float64, bool) {
	p50, mean, _, ok := configured(text)
	if !ok {
		return 0, false
	}
	inSquares := (mean / p50) * (mean / p50) // e to the variance of the logarithm
	return mean * math.Sqrt(inSquares-1), true
}

var mostFirings = regexp.MustCompile(`\bmax=(\d+)`)

// hitEnough says that each fault of a row of the matrix hit three objects, watches or
// requests, or as many as it is meant for. Refused connections have no count.
func (r *record) hitEnough() bool {
	enough := func(texts []string, all []firing, hits func(firing) int64) bool {
		for i, text := range texts {
			least := int64(3)
			if m := mostFirings.FindStringSubmatch(text); m != nil {
				most, _ := strconv.ParseInt(m[1], 10, 64) // digits
				least = min(least, most)
			}
			if i >= len(all) || !refuses(text) && hits(all[i]) < least {
				return false
			}
		}
		return true
	}
	return enough(r.cell.Scenario.Storage.Faults, r.cell.Fired, func(f firing) int64 { return f.Keys }) &&
		enough(r.cell.Scenario.Watch.Faults, r.cell.WatchFired, func(f firing) int64 { return f.Fired })
}

// refuses says that a fault refuses connections: storage's refuse, the apiserver's gone.
func refuses(text string) bool {
	return strings.HasPrefix(text, "refuse") || strings.HasPrefix(text, "gone(")
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

// TestHitEnough: a row of the matrix whose fault hit two watches is not believed, as the
// two that it was meant for are enough.
func TestHitEnough(t *testing.T) {
	var r record
	r.cell.Scenario.Storage.Faults = []string{"refuse(from=1s,for=6s)", "503:1%"}
	r.cell.Scenario.Watch.Faults = []string{"close(1s,max=2)", "410(mid):1%", "gone(4s,from=1s)"}
	for hits, want := range map[int64]bool{2: false, 3: true} {
		r.cell.Fired = []firing{{"refuse", 1, 0}, {"503", 9, hits}}
		r.cell.WatchFired = []firing{{"close", 2, 1}, {"410(mid)", hits, 1}, {"gone", 1, 0}}
		if got := r.hitEnough(); got != want {
			t.Errorf("%d hits: %v", hits, got)
		}
	}
}
