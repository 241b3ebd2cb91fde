package oracle

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
)

// bounds computes the thresholds of a run's scenario, by their place and field in
// results.json. figures are those that the oracle has of each cell, by its id; of one that is
// listed as not computed, what is published.
func bounds(t *testing.T, dir string, figures map[string]answers) answers {
	t.Helper()
	var run struct {
		Cells    []string
		Scenario struct{ Thresholds map[string]string }
	}
	readJSON(t, filepath.Join(dir, "run.json"), &run)
	points := map[string][]answers{}
	for _, id := range run.Cells {
		a := figures[id]
		point := strings.TrimSuffix(id, fmt.Sprintf("-r%v", a["repetition"]))
		points[point] = append(points[point], a)
	}
	out, n := answers{}, 0
	for _, point := range slices.Sorted(maps.Keys(points)) {
		for _, metric := range slices.Sorted(maps.Keys(run.Scenario.Thresholds)) {
			if strings.HasPrefix(metric, "readers.") && points[point][0]["readers.from"] != "watcher" {
				continue
			}
			at := fmt.Sprintf("thresholds.%d.", n)
			n++
			bound := run.Scenario.Thresholds[metric]
			out[at+"point"], out[at+"metric"], out[at+"bound"] = point, metric, bound
			for path, v := range points[point][0] {
				if strings.HasPrefix(path, "params.") {
					out[at+path] = v
				}
			}
			if unit := unitOf(metric); unit != "" {
				out[at+"unit"] = unit
			}
			holds(t, out, at, metric, bound, points[point])
		}
	}
	return out
}

// holds judges one bound by the valid repetitions of a point.
func holds(t *testing.T, out answers, at, metric, bound string, repetitions []answers) {
	var values []float64
	valid, why := 0.0, ""
	for _, a := range repetitions {
		if a["valid"] != true {
			continue
		}
		valid++
		v, known := number(a[metric])
		cut := a["cut"] == true && !strings.HasPrefix(metric, "load.") && metric != "pace.growthQPS" && metric != "pace.writtenQPS"
		// Counters that were never above nothing are left out of the file where that is no news.
		if metric == "watcher.restarts" && !known {
			known = true
		}
		switch {
		case cut:
			why = fmt.Sprintf("%v was cut", a["id"])
		case !known:
			why = fmt.Sprintf("%v has none", a["id"])
		}
		values = append(values, six(v))
	}
	if valid == 0 {
		why = "no valid cell"
	}
	out[at+"valid"], out[at+"holds"] = valid, false
	if why != "" {
		out[at+"why"] = why
		return
	}
	slices.Sort(values)
	middle := values[len(values)/2]
	if len(values)%2 == 0 {
		middle = six((values[len(values)/2-1] + middle) / 2)
	}
	out[at+"value"], out[at+"holds"] = middle, below(t, metric, bound, middle)
}

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

var boundText = regexp.MustCompile(`^(<=|>=|<|>) ?([0-9.]+)([a-zA-Zµ/%]*)$`)

// below compares a value with a bound, in the metric's unit.
func below(t *testing.T, metric, bound string, v float64) bool {
	m := boundText.FindStringSubmatch(bound)
	if m == nil {
		t.Fatalf("%s: %q", metric, bound)
	}
	limit, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	per := map[string]float64{"s": 1, "ms": 1e-3, "µs": 1e-6}
	if d, err := time.ParseDuration(m[2] + m[3]); err == nil && per[unitOf(metric)] > 0 {
		limit = d.Seconds() / per[unitOf(metric)]
	}
	if m[3] == "%" {
		limit /= 100
	}
	switch m[1] {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	}
	return v >= limit
}

// unitOf is the unit of the metrics that committed scenarios bound, by their names.
func unitOf(metric string) string {
	switch parent, _, _ := strings.Cut(metric, "."); {
	case parent == "freshness", strings.HasSuffix(metric, "Seconds"):
		return "s"
	case strings.HasSuffix(metric, "Ms"), strings.Contains(metric, "Ms."):
		return "ms"
	case strings.Contains(metric, "Micros"):
		return "µs"
	case strings.HasSuffix(metric, "QPS"), strings.HasSuffix(metric, ".qps"):
		return "/s"
	}
	return ""
}

// figuresOf has of each cell of a run what the oracle computes of it, and what is published
// of what is listed as not compared.
func figuresOf(t *testing.T, dir string) map[string]answers {
	t.Helper()
	all := map[string]answers{}
	for _, c := range cells(t, dir) {
		r := load(t, c.dir)
		a := compute(t, r)
		have := map[string]any{}
		flatten(have, "", c.published)
		for path, v := range have {
			w, known := a[path]
			_, room := w.(within)
			if !known && r.free(path) || room && same(v, w) {
				a[path] = v
			}
		}
		all[c.id] = a
	}
	return all
}

// TestThresholds computes the outcome of every bound a second time, and sees that no
// alteration of what is published goes unnoticed.
func TestThresholds(t *testing.T) {
	compared, failed, altered := 0, 0, 0
	dirs := saved(t, asked())
	if *folders == "" {
		dirs = append(dirs, written(t))
	}
	for _, dir := range dirs {
		var published struct{ Thresholds []any }
		readJSON(t, filepath.Join(dir, "results.json"), &published)
		want, have := bounds(t, dir, figuresOf(t, dir)), map[string]any{}
		flatten(have, "thresholds", anyList(published.Thresholds))
		for path := range want {
			if _, there := have[path]; !there {
				t.Errorf("%s: %s: none is published, the oracle has %v", dir, path, want[path])
			}
		}
		for path, v := range have {
			w, known := want[path]
			if !known || !same(v, w) {
				t.Errorf("%s: %s: %v is published, the oracle has %v", dir, path, v, w)
				continue
			}
			compared++
			if strings.HasSuffix(path, ".holds") && v == false {
				failed++
			}
			for _, other := range alterations(v, w) {
				altered++
				if same(other, w) {
					t.Errorf("%s: %s was altered from %v to %v, and nobody noticed", dir, path, v, other)
				}
			}
		}
	}
	if *folders == "" && (compared < 100 || failed < 3 || altered < compared) {
		t.Errorf("%d leaves of thresholds compared, %d do not hold, %d alterations: the records do not put this to the test", compared, failed, altered)
	}
}

func anyList(v []any) any { return v }

// written is the folder of a run that never happened: an open load at four points, too short
// to tell its pace.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "open", "", "matrix.watcher.strategy=keyed,dedup", "matrix.watcher.podQueueNum=10,20",
		"thresholds.freshness.p99=< 20ms", "thresholds.freshness.p50=< 40ms", "thresholds.load.qps='> 50/s'", "thresholds.storage.latencyMs.p50=<= 5ms",
		"thresholds.storage.latencyMeanSeenMs=< 4ms", "thresholds.load.errors=<= 0", "thresholds.pace.growthQPS=< 2/s"), 30, nil)
	res, err := assess.Run(t.Context(), dir)
	if err == nil {
		err = result.Save(filepath.Join(dir, result.FileName), res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
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
