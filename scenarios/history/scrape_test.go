package history

import (
	"fmt"
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

// TestReplicasAddUp: the metrics of several replicas in one text add up, also where their series have the same labels.
func TestReplicasAddUp(t *testing.T) {
	one := "# TYPE events counter\nevents{kind=\"Pod\"} %d\n# TYPE lag histogram\nlag_bucket{le=\"1\"} 1\nlag_bucket{le=\"+Inf\"} 2\nlag_sum 3\nlag_count 2\n"
	s := scrapeOf(t, fmt.Sprintf(one+NextReplica+one, 5, 7))
	if n := s.Sum("events", "kind", "Pod"); n == nil || *n != 12 {
		t.Errorf("%v", s["events"])
	}
	if n := s.Sum("lag_count"); n == nil || *n != 4 {
		t.Errorf("%v", s["lag_count"])
	}
	if _, err := ParseScrape(strings.NewReader("a 1\n" + NextReplica + "no metrics at all")); err == nil {
		t.Error("no error")
	}
}
