package readers

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseFaults(t *testing.T) {
	all, err := ParseFaults("500:20%, 429(retry-after=2s), stall(5s):1%, hang(receiver=2), huge(1KiB,receiver=1|3), huge, hang(for=3s), hang(name=x)")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 8 || all[0].Status != 500 || all[0].Probability != 0.2 || all[1].RetryAfter != 2*time.Second || all[2].Delay != 5*time.Second ||
		all[3].Effect != Hang || all[4].Size != 1024 || all[5].Size != 64<<20 || all[6].For != 3*time.Second || all[7].Name != "x" {
		t.Errorf("%+v", all)
	}
	if !all[3].Hits(2) || all[3].Hits(1) || !all[4].Hits(3) || !all[0].Hits(77) {
		t.Error("receivers")
	}
	if only := all[3:5]; Healthy(only, 2) || Healthy(only, 1) || !Healthy(only, 4) || Healthy(all, 4) {
		t.Error("healthy receivers")
	}
}

func TestRefusedFaults(t *testing.T) {
	for text, want := range map[string]string{
		"explode":            "want a status from 400 to 599",
		"302":                "want a status from 400 to 599",
		"stall":              "delay is missing",
		"huge(2GiB)":         "want 1B to 1GiB",
		"hang(receiver=0)":   "numbers of receivers",
		"hang(receiver=1|x)": "numbers of receivers",
		"hang(kind=Pod)":     "does not take kind",
		"500:200%":           "probability",
	} {
		if _, err := ParseFaults(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestPick(t *testing.T) {
	all, err := ParseFaults("500(receiver=1):20%, hang(receiver=2)")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newFaults(7, all)
	if err != nil {
		t.Fatal(err)
	}
	if s.pick(2) != nil {
		t.Error("a fault fired before the start")
	}
	s.Start(time.Now())
	hits := 0
	for range 10_000 {
		if f := s.pick(1); f != nil {
			hits++
		}
		if f := s.pick(2); f == nil || f.Effect != Hang {
			t.Fatal("receiver 2 hangs always")
		}
		if s.pick(3) != nil {
			t.Fatal("receiver 3 meets no fault")
		}
	}
	if math.Abs(float64(hits-2000)) > 200 { // the standard deviation is 40
		t.Errorf("20%% of 10,000 were %d", hits)
	}
}

func FuzzParseFaults(f *testing.F) {
	for _, s := range []string{"500:20%", "huge(1KiB,receiver=1|3)", "stall(5s):1%,hang", "", "429(retry-after=1s)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseFaults(text)
		if err != nil {
			return
		}
		for _, s := range all {
			if s.Probability < 0 || s.Probability > 1 || s.Effect == Status && (s.Status < 400 || s.Status > 599) || s.Effect == Huge && s.Size < 1 {
				t.Errorf("%q: %+v", text, s)
			}
		}
	})
}
