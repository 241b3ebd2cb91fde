package behavior_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/storagemock/behavior"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

func draw(t *testing.T, spec string, n int, seed uint64) []time.Duration {
	t.Helper()
	m, err := behavior.ParseModel(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, 0)
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = m.Sample("PUT", "Pod", "", at)
		at = at.Add(10 * ms)
	}
	return out
}

func mean(d []time.Duration) time.Duration {
	var sum float64
	for _, v := range d {
		sum += float64(v)
	}
	return time.Duration(sum / float64(len(d)))
}

func within(got, want time.Duration, tolerance float64) bool {
	return math.Abs(float64(got-want)) <= tolerance*float64(want)
}

// With 200,000 draws the standard error of every mean below is under 0.7 %.
func TestStatistics(t *testing.T) {
	for _, tc := range []struct {
		spec      string
		mean, p99 time.Duration
	}{
		{"87ms", 87 * ms, 87 * ms},
		{"uniform(10ms,30ms)", 20 * ms, 29800 * time.Microsecond},
		{"lognormal(mean=87ms,p99=110ms)", 87 * ms, 110 * ms},
		{"lognormal(p50=86604us,p99=110ms)", 87 * ms, 110 * ms},
		{"lognormal(mean=87ms,p99=870ms)", 87 * ms, 870 * ms},
		{"lognormal(p50=10ms,p99=100ms)", 16317 * time.Microsecond, 100 * ms},
		{"exponential(10ms)", 10 * ms, 46052 * time.Microsecond},
		{"mix(0.98=5ms,0.02=505ms)", 15 * ms, 505 * ms},
		{"slow(10ms,x=10,every=10s,for=1s)", 19 * ms, 100 * ms},
	} {
		t.Run(tc.spec, func(t *testing.T) {
			got := draw(t, tc.spec, 200_000, 7)
			if m := mean(got); !within(m, tc.mean, 0.02) {
				t.Errorf("mean = %s, want %s", m, tc.mean)
			}
			slices.Sort(got)
			if p99 := got[len(got)*99/100]; !within(p99, tc.p99, 0.03) {
				t.Errorf("p99 = %s, want %s", p99, tc.p99)
			}
			if got[0] < 0 {
				t.Errorf("drew %s", got[0])
			}
			model, err := behavior.ParseModel(tc.spec, 7)
			if err != nil {
				t.Fatal(err)
			}
			if got := model.Mean("PUT", "Pod"); !within(got, tc.mean, 0.001) {
				t.Errorf("Mean() = %s, want %s", got, tc.mean)
			}
			squares := 0.0
			for _, d := range got {
				squares += float64(d-tc.mean) * float64(d-tc.mean)
			}
			if drawn := time.Duration(math.Sqrt(squares / float64(len(got)))); !within(model.Deviation("PUT", "Pod"), drawn, 0.15) {
				t.Errorf("Deviation() = %s, drawn %s", model.Deviation("PUT", "Pod"), drawn)
			}
			f, p50 := model.Figures("PUT", "Pod"), got[len(got)/2]
			if f.Mean != model.Mean("PUT", "Pod") || !within(f.P99, tc.p99, 0.001) || !within(f.P50, p50, 0.02) {
				t.Errorf("Figures() = %+v, drawn p50 = %s", f, p50)
			}
		})
	}
}

// TestSlowPeriods: the last 2 s of every 10 are slow, from the first request on.
func TestSlowPeriods(t *testing.T) {
	for i, d := range draw(t, "slow(10ms,x=20,every=10s,for=2s)", 100_000, 3) {
		if slow := i%1000 >= 800; (d == 200*ms) != slow || (d == 10*ms) == slow {
			t.Fatalf("%s after %s", d, time.Duration(i)*10*ms)
		}
	}
}

func TestBadSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"":                                  "empty rule",
		"87":                                "like 87ms",
		"-1s":                               "not negative",
		"2h":                                "more than 1h",
		"gauss(1ms)":                        "want a duration like 87ms, or uniform",
		"lognormal(87ms,110ms)":             "by name: write lognormal(p50=60ms,p99=400ms) or lognormal(mean=87ms,p99=110ms)",
		"lognormal(p50=1s)":                 "one of p99 and sigma",
		"lognormal(p50=1s,mean=2s,p99=9s)":  "one of p50 and mean, and one of p99 and sigma",
		"lognormal(p50=1s,p99=2s,sigma=1)":  "one of p99 and sigma",
		"lognormal(mean=87ms,p99=50ms)":     "below the mean",
		"lognormal(mean=87ms,p99=2s)":       "15.0 times",
		"lognormal(p50=10m,sigma=4)":        "its mean would be",
		"lognormal(p50=1s,sigma=6)":         "want 0 to 5",
		"lognormal(p50=87ms,p99=1s,p95=1s)": "does not take p95",
		"uniform(3ms,1ms)":                  "above max",
		"normal(10ms,1ms)":                  "want a duration like 87ms, or uniform, exponential, lognormal",
		"mix(1=x(1))":                       "x: unknown distribution",
		"slow(x=2,every=2s,for=1s)":         "base is missing",
		"slow(1ms,x=0.5,every=1s,for=1s)":   "at least 1 times",
		"slow(1ms,x=2,every=1s,for=1s)":     "shorter than every",
		"87ms; method=GET: 5ms":             "never reached",
		"method=FETCH: 5ms":                 "want GET, PUT",
		"color=red: 5ms":                    "method=PUT|GET or kind=",
		"a:b:c":                             "more than one colon",
	} {
		if _, err := behavior.ParseModel(spec, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

// TestOrderOfObjectsDoesNotMatter: an object's nth request takes the same, whoever was served before; and first
// requests of many objects are spread as the distribution is.
func TestOrderOfObjectsDoesNotMatter(t *testing.T) {
	const n = 20_000
	served := func(order func(i int) string) (byName map[string][]time.Duration, all []time.Duration) {
		m, err := behavior.ParseModel("lognormal(mean=87ms,p99=110ms)", 3)
		if err != nil {
			t.Fatal(err)
		}
		byName = map[string][]time.Duration{}
		for i := range n {
			d := m.Sample("PUT", "Pod", order(i), time.Time{})
			byName[order(i)], all = append(byName[order(i)], d), append(all, d)
		}
		return byName, all
	}
	forth, all := served(func(i int) string { return fmt.Sprint("pod-", i%(n/4)) })
	back, _ := served(func(i int) string { return fmt.Sprint("pod-", i/4) })
	if !reflect.DeepEqual(forth, back) {
		t.Error("another order of objects has other latencies")
	}
	if m, err := behavior.ParseModel("kind=Node: uniform(0s,1s); uniform(0s,1s)", 3); err != nil {
		t.Fatal(err)
	} else if pod := m.Sample("PUT", "Pod", "x", time.Time{}); pod == m.Sample("PUT", "Node", "x", time.Time{}) || pod == m.Sample("PUT", "Job", "x", time.Time{}) {
		t.Error("another kind of the same name has the same latency")
	}
	first := all[:n/4]
	slices.Sort(first)
	if got := mean(first); !within(got, 87*ms, 0.01) || !within(first[len(first)*99/100], 110*ms, 0.02) {
		t.Errorf("first requests have mean %s and p99 %s", got, first[len(first)*99/100])
	}
}

func plus(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// TestStations: of requests that arrive at once, each waits for its turn at its own station; -1 was turned away.
func TestStations(t *testing.T) {
	for _, tc := range []struct {
		capacity string
		want     []time.Duration
	}{
		{"", []time.Duration{100 * ms, 100 * ms, 100 * ms}},
		{"inflight=2", []time.Duration{100 * ms, 100 * ms, 200 * ms, 200 * ms, 300 * ms}},
		{"rate=50/s", []time.Duration{100 * ms, 120 * ms, 140 * ms, 160 * ms}},
		{"inflight=1,rate=50/s", []time.Duration{100 * ms, 200 * ms, 300 * ms}},
		{"rate=50/s,queue=1", []time.Duration{100 * ms, 120 * ms, -1, -1}},
		{"inflight=1,queue=1", []time.Duration{100 * ms, 200 * ms, -1}},
		{"kind=Pod,method=PUT: inflight=1; rate=1/s", []time.Duration{100 * ms, 200 * ms}},
		{"kind=Pod,method=DELETE: inflight=1", []time.Duration{100 * ms, 100 * ms}},
	} {
		m, err := behavior.ParseModel("method=DELETE: 10ms; kind=Node: 1ms; 99ms", 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := behavior.ParseCapacities(tc.capacity)
		if err != nil {
			t.Fatal(err)
		}
		s := behavior.NewStations(m, c)
		var got []time.Duration
		for range tc.want {
			took, err := s.Serve("PUT", "Pod", "", time.Hour, plus(ms))
			if err != nil {
				took = -1
			}
			got = append(got, took)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: took %v, want %v", tc.capacity, got, tc.want)
		}
		waiting := 0
		for _, took := range tc.want {
			if took > 100*ms {
				waiting++
			}
		}
		if now, later := s.Waiting(time.Hour), s.Waiting(2*time.Hour); now != waiting || later != 0 {
			t.Errorf("%s: %d waited and %d did later, want %d and none", tc.capacity, now, later, waiting)
		}
		if took, err := s.Serve("DELETE", "Node", "", 2*time.Hour, plus(ms)); took != 11*ms || err != nil {
			t.Errorf("%s: an hour later a request took %s, %v", tc.capacity, took, err)
		}
	}
}

func FuzzParseModel(f *testing.F) {
	for _, s := range []string{"87ms", "method=GET: 5ms; lognormal(mean=87ms,p99=110ms)", "lognormal(p50=60ms,p99=400ms)", "slow(mix(0.95=1ms,0.05=uniform(1ms,2ms)),x=3,every=2s,for=1s)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := behavior.ParseModel(s, 1)
		if err != nil {
			return
		}
		if d := m.Sample("PUT", "Pod", "", time.Unix(1, 0)); d < 0 {
			t.Fatalf("%q drew %s", s, d)
		}
		if f := m.Figures("PUT", "Pod"); f.P50 < 0 || f.P50 > f.P99 || f.Mean < 0 {
			t.Fatalf("%q has %s", s, f)
		}
	})
}
