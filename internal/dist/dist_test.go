package dist

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func drawn(t *testing.T, text string) []float64 {
	t.Helper()
	var n Number
	if err := n.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]float64, 40_000)
	for i := range all {
		all[i] = n.Draw(r)
	}
	slices.Sort(all)
	return all
}

// Means and quantiles are those of the textbook.
func TestLaws(t *testing.T) {
	for _, tc := range []struct {
		text           string
		mean           float64
		p10, p50, p99  float64
		least, highest float64
	}{
		{"lognormal(p50=12,sigma=0.5)", 12 * math.Exp(0.125), 12 * math.Exp(-0.5*1.28155), 12, 12 * math.Exp(0.5*2.32635), 0.5, 200},
		{"normal(9,2)", 9, 9 - 2*1.28155, 9, 9 + 2*2.32635, 0, 20},
		{"bimodal(1,uniform(2,4),50%)", 2, 1, 2, 3.96, 1, 4},
		{"7", 7, 7, 7, 7, 7, 7},
		{"LN(12,0.5)", 12 * math.Exp(0.125), 12 * math.Exp(-0.5*1.28155), 12, 12 * math.Exp(0.5*2.32635), 0.5, 200},
		{"LN(12,0.5) clip 10..20", 13.17, 10, 12, 20, 10, 20},
		{"uniform(2,4)", 3, 2.2, 3, 3.98, 2, 4},
		{"exponential(5)", 5, -5 * math.Log(0.9), 5 * math.Ln2, -5 * math.Log(0.01), 0, 100},
		{"pareto(2,3)", 3, 2 * math.Pow(0.9, -1.0/3), 2 * math.Pow(0.5, -1.0/3), 2 * math.Pow(0.01, -1.0/3), 2, 500},
		{"zipf(1,4)", 4 * 12.0 / 25, 1, 2, 4, 1, 4},
		{"bins(5=80,30=15,250=5)", 21, 5, 5, 250, 5, 250},
		{"bins(1..10=1)", 9 / math.Log(10), math.Pow(10, 0.1), math.Sqrt(10), math.Pow(10, 0.99), 1, 10},
		{"mix(0.5=1,0.25=uniform(2,4),0.25=9)", 3.5, 1, 1, 9, 1, 9},
		{"sum(1,uniform(0,2))", 2, 1.2, 2, 2.98, 1, 3},
	} {
		all := drawn(t, tc.text)
		sum := 0.0
		for _, v := range all {
			sum += v
		}
		n := float64(len(all))
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 0.04*want {
				t.Errorf("%s: %s is %.4g, want %.4g", tc.text, what, got, want)
			}
		}
		near("the mean of what is drawn", sum/n, tc.mean)
		near("Mean", MustNumber(tc.text).Mean(), tc.mean)
		near("p10", all[len(all)/10], tc.p10)
		if l := MustNumber(tc.text).law; math.Abs(l.share(tc.p99)-0.99) > 0.01 && l.share(tc.p99*(1-1e-9)) > 0.99 || l.share(tc.p10*(1+1e-9)) < 0.09 {
			t.Errorf("%s: %v of the draws are at most %v", tc.text, l.share(tc.p99), tc.p99)
		}
		if !strings.HasPrefix(tc.text, "mix") && !strings.HasPrefix(tc.text, "bimodal") { // their medians are at a jump
			near("p50", all[len(all)/2], tc.p50)
		}
		near("p99", all[len(all)*99/100], tc.p99)
		if all[0] < tc.least || all[len(all)-1] > tc.highest {
			t.Errorf("%s draws %v to %v, want within %v and %v", tc.text, all[0], all[len(all)-1], tc.least, tc.highest)
		}
	}
	if m := MustNumber("pareto(1,1)").Mean(); !math.IsInf(m, 1) {
		t.Errorf("pareto(1,1) has a mean of %v", m)
	}
}

func TestUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	if d := MustDuration("87ms").Draw(r); d != 87*time.Millisecond {
		t.Errorf("87ms is %s", d)
	}
	if d := MustDuration("LN(1s,0.5)").Draw(r); d%time.Microsecond != 0 || d < 10*time.Millisecond {
		t.Errorf("a draw of %s is not whole microseconds", d)
	}
	if n := MustSize("12KB").Draw(r); n != 12_000 {
		t.Errorf("12KB are %d bytes", n)
	}
	if d := MustDuration("pareto(1h,0.1)"); d.Mean() < 1000*time.Hour {
		t.Errorf("an infinite mean is %s", d.Mean())
	}
	text, err := MustSize("LN(12KB,0.5) clip 3KB..60KB").MarshalText()
	if err != nil || string(text) != "LN(12KB,0.5) clip 3KB..60KB" {
		t.Errorf("written as %q, %v", text, err)
	}
	if !(Number{}).IsZero() || MustNumber("0").IsZero() {
		t.Error("a zero is not the same as nothing")
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                        `"", column 1: want a name or a value; write for example`,
		"LN(12,0.5":               `column 3: the parenthesis is not closed`,
		"LN(12)":                  "sigma is missing",
		"LN(0,1)":                 "median: want more than 0",
		"LN(1,9)":                 "want 0 to 5",
		"LM(1,2)":                 "LM is no distribution, want a number like 4, or constant, uniform",
		"uniform(4,2)":            "min is above max",
		"uniform(-1,2)":           "-1: want a number from 0",
		"uniform(NaN,2)":          "NaN: want a number from 0",
		"exponential(1,2)":        "too many arguments to exponential",
		"pareto(0,1)":             "least: want more than 0",
		"zipf(1,2.5)":             "a whole n of 1 to 10000",
		"zipf(1,100000)":          "a whole n of 1 to 10000",
		"bins(5)":                 "bins takes values or ranges with their weights, such as 5=80",
		"bins(5=0)":               "bins needs a weight above 0",
		"bins(0..5=1)":            "a range begins above 0",
		"mix(1)":                  "mix takes weights and distributions",
		"mix(x=1)":                "x is not a weight",
		"sum()":                   "sum needs something to add",
		"slow(1,2,3,4)":           "slow is for latencies only",
		"empirical(x)":            "empirical is for latencies only",
		"4 clip 9":                "want a range such as 1..10",
		"4 clip 9..3":             "9 is above 3",
		"12KB":                    "12KB: neither a number nor a distribution, want a number like 4",
		strings.Repeat("1", 5000): "a distribution of 5000 characters; write at most 1024",
	} {
		var n Number
		err := n.UnmarshalText([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: got  %v\nwant %s", text, err, want)
		}
	}
	var d Duration
	if err := d.UnmarshalText([]byte("LN(12,0.5)")); err == nil || !strings.Contains(err.Error(), "12: not a duration; write a number and a unit") {
		t.Errorf("a duration without unit: %v", err)
	}
	var s Size
	if err := s.UnmarshalText([]byte("zipf(1,4)")); err == nil || !strings.Contains(err.Error(), "zipf draws numbers, not a size") {
		t.Errorf("zipf of sizes: %v", err)
	}
}

func FuzzMeasured(f *testing.F) {
	f.Add([]byte("80\n90ms # x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		values, err := measured(b)
		if err == nil && (len(values) == 0 || slices.Min(values) < 0) {
			t.Fatalf("%q gave %v", b, values)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"LN(12KB,0.5) clip 3KB..60KB", "mix(0.6=LN(1s,0.7),0.3=uniform(5s,15s),0.1=30s)", "bins(1s..10s=22,5=80)", "zipf(1.5,500)",
		"sum(pareto(1,0.1),exponential(0))", "uniform(0,1e15) clip 0..0", "LN(1e-300,5)", "bins(1e-320..1e15=1)", "mix(0=1,1e-320=2)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := rand.New(rand.NewPCG(1, 2))
		var n Number
		if n.UnmarshalText([]byte(text)) == nil {
			for range 50 {
				if v := n.Draw(r); !(v >= 0) {
					t.Fatalf("draws %v", v)
				}
			}
			if m := n.Mean(); !(m >= 0) {
				t.Fatalf("has a mean of %v", m)
			}
			if v := n.Whole(r); v < 0 {
				t.Fatalf("draws %d", v)
			}
		}
		var d Duration
		if d.UnmarshalText([]byte(text)) == nil && (d.Draw(r) < 0 || d.Mean() < 0) {
			t.Fatalf("draws a negative time")
		}
		var s Size
		if s.UnmarshalText([]byte(text)) == nil && (s.Draw(r) < 0 || !(s.Mean() >= 0)) {
			t.Fatalf("draws a negative size")
		}
	})
}
