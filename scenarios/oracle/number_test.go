package oracle

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// six rounds to six significant digits, as all figures are published.
func six(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		panic(err)
	}
	return r
}

// agrees reports whether v is published as that number. A value halfway between two
// numbers of six digits may be published as either, since it depends on the order of
// the additions that made it.
func agrees(published, v float64) bool {
	return published == six(v*(1-1e-13)) || published == six(v*(1+1e-13))
}

// within is a number whose definition leaves some room.
type within struct{ v, room float64 }

// optional is a number that is published under conditions which the oracle does not know.
type optional struct{ v float64 }

// hdr is a histogram: how many values lie in the bucket that ends with the key.
type hdr map[int64]int64

func histogram(nanos []int64) hdr {
	h := hdr{}
	for _, v := range nanos {
		h[bucket(max(v/1000, 1))]++
	}
	return h
}

// is decodes a published histogram and compares it.
func (h hdr) is(published string) bool {
	d, err := hdrhistogram.Decode([]byte(published))
	if err != nil {
		return false
	}
	have := hdr{}
	for _, b := range d.Distribution() {
		if b.Count > 0 {
			have[b.To] = b.Count
		}
	}
	return maps.Equal(h, have)
}

// bucket is the highest value that a histogram of three significant digits, which counts
// whole microseconds from 1, cannot tell from v: below 2048 each value is its own, from
// there on 1024 buckets of equal width lie between one power of two and the next.
func bucket(v int64) int64 {
	if v < 2048 {
		return v
	}
	width := int64(1) << (bits.Len64(uint64(v)) - 11)
	return v - v%width + width - 1
}

// quantiles publishes nanoseconds, counted in microseconds, in another unit.
func quantiles(nanos []int64, unit float64) map[string]any {
	if len(nanos) == 0 {
		return nil
	}
	micros := make([]int64, len(nanos))
	for i, v := range nanos {
		micros[i] = bucket(max(v/1000, 1))
	}
	slices.Sort(micros)
	at := func(percent int) float64 {
		rank := (percent*len(micros) + 50) / 100 // the nearest rank
		return float64(micros[max(rank, 1)-1]) / 1e6 / unit
	}
	out := map[string]any{"count": float64(len(micros)), "p50": at(50), "p90": at(90), "p99": at(99), "max": at(100)}
	if len(micros) < 100 {
		out["p99"] = out["max"]
	}
	return out
}

func seconds(nanos int64) float64 { return float64(nanos) / 1e9 }

var nan = math.NaN()

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case within:
		return v.v, true
	case optional:
		return v.v, true
	}
	return 0, false
}

// configured reads median, mean and 99th percentile of a lognormal or constant latency, in
// seconds; false for other distributions.
func configured(text string) (p50, mean, p99 float64, ok bool) {
	const z = 2.3263478740408408 // of the 99th percentile of a normal distribution
	value := map[string]float64{}
	for _, part := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "lognormal("), ")"), ",") {
		name, what, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, what = "", name
		}
		d, err := time.ParseDuration(what)
		if err != nil {
			return 0, 0, 0, false
		}
		value[name] = d.Seconds()
	}
	switch {
	case len(value) == 1 && value[""] > 0:
		return value[""], value[""], value[""], true
	case value["p50"] > 0 && value["p99"] > 0:
		s := math.Log(value["p99"]/value["p50"]) / z
		return value["p50"], value["p50"] * math.Exp(s*s/2), value["p99"], true
	case value["mean"] > 0 && value["p99"] > 0:
		s := z - math.Sqrt(z*z-2*math.Log(value["p99"]/value["mean"]))
		return value["mean"] * math.Exp(-s*s/2), value["mean"], value["p99"], true
	}
	return 0, 0, 0, false
}
