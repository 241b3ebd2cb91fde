package behavior_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func set(t *testing.T, text string) *behavior.FaultSet {
	t.Helper()
	specs, err := behavior.ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	s := behavior.NewFaultSet(1)
	if err := s.Add(specs, start); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseFaults(t *testing.T) {
	specs, err := behavior.ParseFaults(`503:1%, reset:0.5%,stall(5s):0.1%, 429(retry-after=2s,method=put|delete,kind=Pod,max=3,name=throttle):0.1, reset-after, ` +
		`late(3s,answer=200), late(1s,answer=reset), double, double(2s), truncate(bytes=5), html(status=200,apply=true), ` +
		`blackhole(key=team-a/web-*,keys=5%), reset(from=1s,for=2s,every=10s), refuse(for=10s)`)
	if err != nil {
		t.Fatal(err)
	}
	if len(specs) != 14 {
		t.Fatalf("%d faults", len(specs))
	}
	if s := specs[3]; s.Status != 429 || s.RetryAfter != 2*time.Second || s.Probability != 0.1 || s.Max != 3 || s.Name != "throttle" || !slices.Equal(s.Match.Methods, []string{"PUT", "DELETE"}) || !slices.Equal(s.Match.Kinds, []string{"Pod"}) {
		t.Errorf("429: %+v", s)
	}
	if s := specs[2]; s.Effect != behavior.Stall || s.Delay != 5*time.Second || s.Name != "stall(5s)" || s.Probability != 0.001 {
		t.Errorf("stall: %+v", s)
	}
	if s := specs[4]; s.Effect != behavior.Reset || !s.Apply || s.Probability != 1 {
		t.Errorf("reset-after: %+v", s)
	}
	if s := specs[11]; s.Key != "team-a/web-*" || s.Keys != 0.05 {
		t.Errorf("blackhole: %+v", s)
	}
	if specs, err := behavior.ParseFaults("  "); err != nil || specs != nil {
		t.Errorf("empty text: %v %v", specs, err)
	}
}

func TestBadFaults(t *testing.T) {
	for text, want := range map[string]string{
		"explode":                          "want a status from 400 to 599",
		"302":                              "want a status from 400 to 599",
		"503:200%":                         "probability",
		"503:1%:2%":                        "more than one colon",
		"503,":                             "want a name",
		"stall":                            "delay is missing",
		"stall(0s)":                        "more than 0",
		"stall(5)":                         "87ms",
		"stall(2h)":                        "at most",
		"503(retry-after=1500ms)":          "whole seconds",
		"503(color=red)":                   "does not take color; it takes retry-after",
		"reset(apply=maybe)":               "true or false",
		"late(1s,answer=300)":              "want none, reset",
		"503(method=FETCH)":                "want GET, PUT",
		"503(key=[)":                       "not a glob",
		"503(keys=2)":                      "probability",
		"503(every=5s)":                    "needs for",
		"503(every=5s,for=5s)":             "shorter",
		"503(max=-1)":                      "at least 0",
		"interim(200)":                     "want 100 to 199",
		"interim(101)":                     "without 101",
		"interim(102,times=0)":             "at least 1",
		"refuse":                           "needs for",
		"refuse(for=1s):5%":                "all connections",
		"refuse(for=1s,kind=Pod)":          "all connections",
		"html(status=700)":                 "200 to 599",
		strings.Repeat("503,", 70) + "503": "at most 64",
	} {
		if _, err := behavior.ParseFaults(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func pod(name string) behavior.Request {
	return behavior.Request{Method: "PUT", Kind: "Pod", Namespace: "a", Name: name}
}

func TestProbabilityAndSeed(t *testing.T) {
	run := func() (hits []int, info faultlist.Info) {
		s := set(t, "503:5%, reset:10%")
		for i := range 20_000 {
			if f := s.Pick(pod(fmt.Sprint(i%100)), start); f != nil && f.Status == 503 {
				hits = append(hits, i)
			}
		}
		return hits, s.List()[1]
	}
	hits, reset := run()
	// 20,000 draws: the standard deviations are 31 and 41.
	if math.Abs(float64(len(hits)-1000)) > 130 || math.Abs(float64(reset.Fired-1900)) > 170 || reset.Keys != 100 {
		t.Errorf("503 fired %d times, reset %d times on %d keys", len(hits), reset.Fired, reset.Keys)
	}
	if again, _ := run(); fmt.Sprint(again) != fmt.Sprint(hits) {
		t.Error("one seed gave two sequences")
	}
}

func TestFilters(t *testing.T) {
	for text, want := range map[string]string{
		"503(kind=Node)":       "",
		"503(method=PUT)":      "PUT a/web-1, PUT a/web-2",
		"503(key=a/web-1)":     "PUT a/web-1, DELETE a/web-1",
		"503(key=*/web-2)":     "PUT a/web-2, DELETE a/web-2",
		"503(key=web-1)":       "",
		"503(max=1)":           "PUT a/web-1",
		"503(keys=0%)":         "",
		"503:0%":               "",
		"503(from=1s)":         "",
		"503(kind=Pod|Secret)": "PUT a/web-1, DELETE a/web-1, PUT a/web-2, DELETE a/web-2",
		"503(instance=1)":      "PUT a/web-2, DELETE a/web-2",
	} {
		s := set(t, text)
		var hit []string
		for instance, name := range []string{"web-1", "web-2"} {
			for _, method := range []string{"PUT", "DELETE"} {
				r := pod(name)
				r.Instance = instance
				r.Method = method
				if s.Pick(r, start) != nil {
					hit = append(hit, method+" a/"+name)
				}
			}
		}
		if got := strings.Join(hit, ", "); got != want {
			t.Errorf("%s hit %q, want %q", text, got, want)
		}
	}
}

func TestShareOfKeysIsStable(t *testing.T) {
	s := set(t, "422(keys=10%)")
	poisoned := 0
	for i := range 5000 {
		first := s.Pick(pod(fmt.Sprint("p", i)), start) != nil
		if again := s.Pick(pod(fmt.Sprint("p", i)), start) != nil; again != first {
			t.Fatal("a key is poisoned only sometimes")
		}
		if first {
			poisoned++
		}
	}
	if math.Abs(float64(poisoned-500)) > 90 { // standard deviation 21
		t.Errorf("%d of 5000 keys are poisoned, want about 500", poisoned)
	}
}

func TestWindows(t *testing.T) {
	s := set(t, "503(from=10s,for=5s,every=20s)")
	var open []int
	for sec := range 60 {
		if s.Pick(pod("x"), start.Add(time.Duration(sec)*time.Second)) != nil {
			open = append(open, sec)
		}
	}
	if got := fmt.Sprint(open); got != "[10 11 12 13 14 30 31 32 33 34 50 51 52 53 54]" {
		t.Errorf("open at %s", got)
	}
}

func TestRefusing(t *testing.T) {
	s := set(t, "refuse(from=2s,for=3s,every=10s,max=2)")
	var edges []string
	for now, i := start, 0; i < 8; i++ {
		on, _, again, _ := s.Refusal(now)
		edges = append(edges, fmt.Sprintf("%.0f:%v", now.Sub(start).Seconds(), on))
		if again.IsZero() {
			break
		}
		if !again.After(now) {
			t.Fatalf("asked to come again at %s, which is now", again)
		}
		now = again
	}
	if got := strings.Join(edges, " "); got != "0:false 2:true 5:false 12:true 15:false 22:false 25:false 32:false" {
		t.Errorf("got %s", got)
	}
	if fired := s.List()[0].Fired; fired != 2 {
		t.Errorf("fired %d times", fired)
	}
	if s.Pick(pod("x"), start.Add(3*time.Second)) != nil {
		t.Error("refuse hit a request")
	}
}

func TestRemove(t *testing.T) {
	s := set(t, "503, 504")
	if err := s.Remove(1); err != nil {
		t.Fatal(err)
	}
	if f := s.Pick(pod("x"), start); f == nil || f.Status != 504 {
		t.Errorf("picked %+v", f)
	}
	if err := s.Remove(1); err == nil {
		t.Error("removed a fault twice")
	}
	if err := s.Remove(0); err != nil || s.Pick(pod("x"), start) != nil {
		t.Errorf("after removing all: %v", err)
	}
}

func FuzzParseFaults(f *testing.F) {
	f.Add("503:1%,reset:0.5%,stall(5s):0.1%")
	f.Add("late(3s,answer=200,key=a/*),refuse(for=1s)")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := behavior.ParseFaults(text)
		if err != nil {
			return
		}
		s := behavior.NewFaultSet(1)
		if err := s.Add(specs, start); err != nil {
			t.Fatal(err)
		}
		s.Pick(pod("x"), start.Add(time.Second))
		s.Refusal(start)
		for _, sp := range specs {
			again, err := behavior.ParseFaults(sp.Text)
			if err != nil || len(again) != 1 {
				t.Fatalf("%q does not parse again: %v", sp.Text, err)
			}
		}
	})
}
