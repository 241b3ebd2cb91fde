package result

import (
	"reflect"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Merge adds the histograms of several distributions up. It is nil if one of them is missing or cannot be read, or if
// they are empty: percentiles cannot be had in another way. Values are in microseconds.
func Merge(all []*Quantiles) *hdrhistogram.Histogram {
	var merged *hdrhistogram.Histogram
	for _, q := range all {
		if q == nil || q.HDR == "" {
			return nil
		}
		h, err := hdrhistogram.Decode([]byte(q.HDR))
		if err != nil {
			return nil
		}
		if merged == nil {
			merged = h
		} else if merged.Merge(h) > 0 {
			return nil // values outside the first one's range would be lost
		}
	}
	if merged == nil || merged.TotalCount() == 0 {
		return nil
	}
	return merged
}

// Percentile is the percentile that the metric is of a distribution, and how many
// microseconds its unit has; ok is false for any other metric.
func (m Metric) Percentile() (percentile, micros float64, ok bool) {
	in := reflect.TypeFor[Cell]()
	var field reflect.StructField
	for _, i := range m.index {
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if ok = in == reflect.TypeFor[Quantiles](); ok {
			field = in.FieldByIndex(i)
		}
		in = in.FieldByIndex(i).Type
	}
	percentile = map[string]float64{"P50": 50, "P90": 90, "P99": 99, "Max": 100}[field.Name]
	micros = map[string]float64{"s": 1e6, "ms": 1e3}[m.Unit]
	return percentile, micros, ok && percentile > 0 && micros > 0
}

// Distribution returns the distribution in a cell that a Percentile is taken from; nil if unknown.
func (m Metric) Distribution(c *Cell) *Quantiles {
	v := reflect.ValueOf(c).Elem()
	for _, i := range m.index[:len(m.index)-1] {
		if v = v.FieldByIndex(i); v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil
			}
			v = v.Elem()
		}
	}
	q, _ := v.Addr().Interface().(*Quantiles)
	return q
}
