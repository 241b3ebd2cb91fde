package history

import (
	"math"
	"strings"
	"testing"
)

func scrapeOf(t *testing.T, text string) Scrape {
	t.Helper()
	s, err := ParseScrape(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

func TestScrape(t *testing.T) {
	s := scrapeOf(t, `# TYPE a counter
a{k="x"} 1
a{k="y"} 2
# TYPE h histogram
h_bucket{le="1"} 2
h_bucket{le="+Inf"} 3
h_sum 4.5
h_count 3
`)
	if v := s.Sum("a"); v == nil || *v != 3 {
		t.Errorf("sum %v", value(v))
	}
	if v := s.Sum("a", "k", "y"); v == nil || *v != 2 {
		t.Errorf("sum of y %v", value(v))
	}
	if v := s.Sum("a", "k", "z"); v == nil || *v != 0 {
		t.Errorf("sum of an absent series of a known metric %v, want 0", value(v))
	}
	if s.Sum("b") != nil || Scrape(nil).Sum("a") != nil {
		t.Error("an unknown metric has a value")
	}
	if v := s.Sum("h_sum"); v == nil || *v != 4.5 {
		t.Errorf("histogram sum %v", value(v))
	}
	if _, err := ParseScrape(strings.NewReader("<html>")); err == nil {
		t.Error("HTML was read as metrics")
	}
}

func FuzzParseScrape(f *testing.F) {
	f.Add("# TYPE a counter\na{k=\"x\"} 1\n")
	f.Add("a 1\n<html>")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScrape(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, points := range s {
			by := s.By(name, "k")
			if sum := s.Sum(name); sum == nil || len(by) == 0 || len(by) > len(points) || len(by) == 1 && !math.IsNaN(*sum) && *sum != by[points[0].Labels["k"]] {
				t.Errorf("%s: %v of %v, sum %v", name, by, points, value(sum))
			}
		}
	})
}
