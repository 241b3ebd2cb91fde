package search

import (
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{"200/s": 200, "0.5/s": 0.5, "1e3/s": 1000, "200": 0, "200/m": 0, "-1/s": 0, "0/s": 0, "NaN/s": 0, "Inf/s": 0, "1e9/s": 0, "": 0, "/s": 0, "two/s": 0} {
		got, err := ParseRate(text)
		if got != want || (err == nil) != (want > 0) || err != nil && !badinput.Is(err) {
			t.Errorf("%q is %g, %v", text, got, err)
		}
	}
}

func TestParseStorage(t *testing.T) {
	for text, want := range map[string]string{
		"p50=60ms,p99=400ms":         "lognormal(p50=60ms,p99=400ms)",
		"mean=87ms,p99=110ms":        "lognormal(mean=87ms,p99=110ms)",
		"80ms":                       "80ms",
		"uniform(10ms,20ms)":         "uniform(10ms,20ms)",
		"p50=60ms":                   "",
		"p50=400ms,p99=60ms":         "",
		"p50=60ms,p99=400ms); 503":   "",
		"0s":                         "",
		"":                           "",
		"fast":                       "",
		"-5ms":                       "",
		strings.Repeat("9", 2000):    "",
		"lognormal(p50=1ms,p99=2ms)": "lognormal(p50=1ms,p99=2ms)",
	} {
		got, err := ParseStorage(text)
		if got != want || (err == nil) != (want != "") || err != nil && !badinput.Is(err) {
			t.Errorf("%.60q is %q, %v", text, got, err)
		}
	}
}

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]Objective{
		"freshness.p99=2s":     {Metric: "freshness.p99", Bound: 2 * time.Second},
		"freshness.p99":        {},
		"drain=30s":            {Metric: metricDrain, Bound: 30 * time.Second},
		"drainAfterLoad=500ms": {Metric: "handler.drainAfterLoadSeconds", Bound: 500 * time.Millisecond},
		"rate=200/s":           {},
		"rate":                 {}, "rate=200": {}, "freshness.p98=2s": {}, "drain=2": {}, "drain=-2s": {}, "drain=": {}, "drain=100h": {}, "": {}, "=": {},
	} {
		got, err := ParseObjective(text)
		if want.Text = text; (err == nil) != (want.Metric != "") || err == nil && got != want || err != nil && !badinput.Is(err) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

func TestParseQueues(t *testing.T) {
	for text, want := range map[string]Range{"1..256": {1, 256}, "30": {30, 30}, "8..64": {8, 64}, "0..4": {}, "4..1": {}, "1..257": {}, "..": {}, "a..b": {}, "": {}, "1..2..3": {}} {
		got, err := ParseQueues(text)
		if got != want || (err == nil) != (want != Range{}) || err != nil && !badinput.Is(err) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// FuzzInput: whatever is written is an error of bad input or a value within its bounds, and a
// latency that is taken is one that the mock takes.
func FuzzInput(f *testing.F) {
	for _, s := range []string{"200/s", "p50=60ms,p99=400ms", "freshness.p99=2s", "rate=1/s", "1..256", "80ms", "bimodal(1ms,2ms,p=0.5)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check := func(err error) bool {
			if err != nil && !badinput.Is(err) {
				t.Fatalf("%q: %v is no error of bad input", text, err)
			}
			return err == nil
		}
		if v, err := ParseRate(text); check(err) && !(v > 0 && v <= MaxRate) {
			t.Fatalf("%q is a rate of %g", text, v)
		}
		if s, err := ParseStorage(text); check(err) {
			if _, err := behavior.ParseModel(s, 1); err != nil {
				t.Fatalf("%q became %q: %v", text, s, err)
			}
		}
		if o, err := ParseObjective(text); check(err) && (o.Metric == "" || o.Bound <= 0 || o.Bound > maxBound) {
			t.Fatalf("%q is %+v", text, o)
		}
		if r, err := ParseQueues(text); check(err) && (r.Low < 1 || r.High > QueueRange.High || r.Low > r.High) {
			t.Fatalf("%q is %v", text, r)
		}
	})
}

// TestSets: the Pods per second of a profile are scaled to about the writes that are asked for.
func TestSets(t *testing.T) {
	f, err := faults.Format.Parse("tune", []byte(`apiVersion: watchbench/v1
kind: Scenario
metadata: {name: churn}
load: {model: open, profile: service-churn, rate: 8, duration: 90s, nodes: 30, namespaces: 20, prefill: 100,
	tuning: {timeScale: 20}}
watcher: {resources: [Pod, Event, ReplicaSet, Deployment, EndpointSlice, Node, Lease]}
`))
	if err != nil {
		t.Fatal(err)
	}
	base := f.Base()
	sets, err := Question{Rate: 200, Storage: "60ms", Length: 30 * time.Second}.Sets(&base)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.With(sets...); err != nil {
		t.Fatal(err)
	}
	base = f.Base()
	if rate, err := writesOf(base.Load.Load, base.Seed); err != nil || rate < 170 || rate > 230 {
		t.Errorf("%g pods/s are %.0f writes/s, want about 200; %v", base.Load.Rate, rate, err)
	}
}
