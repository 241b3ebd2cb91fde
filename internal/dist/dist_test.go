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
		all[i] = n.law.draw(Source{Rand: r})
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
		{"7", 7, 7, 7, 7, 7, 7},
		{"LN(12,0.5)", 12 * math.Exp(0.125), 12 * math.Exp(-0.5*1.28155), 12, 12 * math.Exp(0.5*2.32635), 0.5, 200},
		{"LN(12,0.5) clip 10..20", 13.17, 10, 12, 20, 10, 20},
		{"uniform(2,4)", 3, 2.2, 3, 3.98, 2, 4},
		{"exponential(5)", 5, -5 * math.Log(0.9), 5 * math.Ln2, -5 * math.Log(0.01), 0, 100},
		{"zipf(1,4)", 4 * 12.0 / 25, 1, 2, 4, 1, 4},
		{"mix(80=5,15=30,5=250)", 21, 5, 5, 250, 5, 250},
		{"1..10", 9 / math.Log(10), math.Pow(10, 0.1), math.Sqrt(10), math.Pow(10, 0.99), 1, 10},
		{"mix(0.5=1,0.25=uniform(2,4),0.25=9)", 3.5, 1, 1, 9, 1, 9},
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
		near("Mean", Must[Number](tc.text).Mean(), tc.mean)
		near("p10", all[len(all)/10], tc.p10)
		if l := Must[Number](tc.text).law; math.Abs(l.share(tc.p99)-0.99) > 0.01 && l.share(tc.p99*(1-1e-9)) > 0.99 || l.share(tc.p10*(1+1e-9)) < 0.09 {
			t.Errorf("%s: %v of the draws are at most %v", tc.text, l.share(tc.p99), tc.p99)
		}
		if !strings.HasPrefix(tc.text, "mix") { // their medians are at a jump
			near("p50", all[len(all)/2], tc.p50)
		}
		near("p99", all[len(all)*99/100], tc.p99)
		if all[0] < tc.least || all[len(all)-1] > tc.highest {
			t.Errorf("%s draws %v to %v, want within %v and %v", tc.text, all[0], all[len(all)-1], tc.least, tc.highest)
		}
	}
}

func TestUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	if d := Must[Duration]("87ms").Draw(r); d != 87*time.Millisecond {
		t.Errorf("87ms is %s", d)
	}
	if d := Must[Duration]("LN(1s,0.5)").Draw(r); d%time.Microsecond != 0 || d < 10*time.Millisecond {
		t.Errorf("a draw of %s is not whole microseconds", d)
	}
	if n := Must[Size]("12KB").Draw(r); n != 12_000 {
		t.Errorf("12KB are %d bytes", n)
	}
	text, err := Must[Size]("LN(12KB,0.5) clip 3KB..60KB").MarshalText()
	if err != nil || string(text) != "LN(12KB,0.5) clip 3KB..60KB" {
		t.Errorf("written as %q, %v", text, err)
	}
	if !(Number{}).IsZero() || Must[Number]("0").IsZero() {
		t.Error("a zero is not the same as nothing")
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":               `"", column 1: want a name or a value; write for example`,
		"LN(12,0.5":      `column 3: the parenthesis is not closed`,
		"LN(12)":         "one of p99 and sigma",
		"LN(0,1)":        "median: want more than 0",
		"LN(1,9)":        "want 0 to 5",
		"LM(1,2)":        "LM: unknown distribution, want a number like 4, or uniform",
		"uniform(4,2)":   "min is above max",
		"uniform(-1,2)":  "-1: want a number from 0",
		"uniform(NaN,2)": "NaN: want a number from 0",
		"zipf(1,2.5)":    "a whole n of 1 to 10000",
		"mix(1)":         "mix takes weights from 0 to 1e9 and distributions, such as 0.6=4",
		"mix(0=1)":       "mix needs a weight above 0",
		"0..5":           "a range begins above 0",
		"mix(1=x..y)":    "column 7: x..y: ",
		"bins(5=1)":      "bins: unknown distribution, want a number like 4, or uniform",

		"slow(1,2,3,4)":           "slow is for latencies only",
		"4 clip 9":                "want a range such as 1..10",
		"4 clip 9..3":             "9 is above 3",
		"12KB":                    "12KB: want a number from 0, want a number like 4",
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

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"LN(12KB,0.5) clip 3KB..60KB", "mix(0.6=LN(1s,0.7),0.3=uniform(5s,15s),0.1=30s)", "mix(22=1s..10s,80=5)", "zipf(1.5,500)",
		"exponential(0)", "uniform(0,1e15) clip 0..0", "LN(1e-300,5)", "1e-320..1e15", "mix(0=1,1e-320=2)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := rand.New(rand.NewPCG(1, 2))
		var n Number
		if n.UnmarshalText([]byte(text)) == nil {
			for range 50 {
				if v := n.law.draw(Source{Rand: r}); !(v >= 0) {
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
		if s.UnmarshalText([]byte(text)) == nil && (s.Draw(r) < 0 || !(s.law.mean() >= 0)) {
			t.Fatalf("draws a negative size")
		}
	})
}
