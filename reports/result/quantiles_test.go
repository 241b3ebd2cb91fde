package result

import (
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// seconds is a distribution of n values from 1 s to n s.
func seconds(t *testing.T, n int64) *Quantiles {
	t.Helper()
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	for i := range n {
		if err := h.RecordValue((i + 1) * 1e6); err != nil {
			t.Fatal(err)
		}
	}
	data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return &Quantiles{Count: n, HDR: string(data)}
}

func TestMerge(t *testing.T) {
	h := Merge([]*Quantiles{seconds(t, 100), seconds(t, 300)})
	if h == nil || h.TotalCount() != 400 {
		t.Fatalf("merged: %+v", h)
	}
	// Of 100 and 300 evenly spread values, half are at most 100 and as many above.
	if got := h.ValueAtPercentile(50) / 1e6; got != 100 {
		t.Errorf("the median of both is %v s, want 100", got)
	}
	for name, all := range map[string][]*Quantiles{
		"none": nil, "one is missing": {seconds(t, 10), nil}, "one has no histogram": {seconds(t, 10), {Count: 10}},
		"one is torn": {seconds(t, 10), {Count: 10, HDR: "HISTFAAA"}}, "all are empty": {seconds(t, 0)},
	} {
		if Merge(all) != nil {
			t.Errorf("%s: merged", name)
		}
	}
}

func TestPercentile(t *testing.T) {
	c := &Cell{Freshness: &Quantiles{Count: 7}, Storage: Storage{SeenMs: &Quantiles{Count: 8}}}
	of := 0
	for _, m := range Metrics() {
		percentile, micros, ok := m.Percentile()
		if !ok {
			continue
		}
		of++
		switch want := m.Distribution(c); {
		case m.Name == "freshness.p99" && (percentile != 99 || micros != 1e6 || want != c.Freshness):
			t.Errorf("%s: %v of %v, %v µs", m.Name, percentile, want, micros)
		case m.Name == "storage.latencyMs.max" && (percentile != 100 || micros != 1e3 || want != c.Storage.SeenMs):
			t.Errorf("%s: %v of %v, %v µs", m.Name, percentile, want, micros)
		case strings.HasPrefix(m.Name, "bystander.") && want != nil:
			t.Errorf("%s is of %v", m.Name, want)
		}
		if strings.HasSuffix(m.Name, ".count") {
			t.Errorf("%s is no percentile", m.Name)
		}
	}
	if of < 12 {
		t.Errorf("only %d metrics are percentiles", of)
	}
}
