package oracle

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

var folders = flag.String("folders", "", "folders of runs or matrices to recompute, separated by commas, instead of those of testdata")

// asked are the folders that were asked for, relative ones seen from the root of the repository, or testdata's.
func asked() []string {
	if *folders == "" {
		return testdata
	}
	dirs := strings.Split(*folders, ",")
	for i, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dirs[i] = filepath.Join("..", "..", dir)
		}
	}
	return dirs
}

// testdata are a run of closed loops, one of open loops with thresholds, of which some keep up and some fall behind, on
// a machine that was much too busy, one with each kind of reader, and a row of the matrix.
var testdata = []string{"testdata/run", "testdata/open", "testdata/readers", "testdata/observed", "testdata/matrix"}

// saved lists the folders of runs; of a matrix they are those in it.
func saved(t *testing.T, from []string) (dirs []string) {
	t.Helper()
	for _, dir := range from {
		found, err := filepath.Glob(filepath.Join(dir, "*", "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(found, filepath.Join(dir, "run.json")) {
			if _, err := os.Stat(f); err == nil {
				dirs = append(dirs, filepath.Dir(f))
			}
		}
	}
	if len(dirs) == 0 {
		t.Fatalf("no run in %v", from)
	}
	return dirs
}

type cell struct {
	id, dir   string
	published map[string]any
}

func cells(t *testing.T, dir string) (out []cell) {
	t.Helper()
	var run struct{ Cells []map[string]any }
	readJSON(t, filepath.Join(dir, "results.json"), &run)
	for _, c := range run.Cells {
		id, _ := c["id"].(string)
		out = append(out, cell{id, filepath.Join(dir, "cells", id), c})
	}
	return out
}

// TestOracle computes every figure and verdict of saved folders a second time.
func TestOracle(t *testing.T) {
	compared := 0
	for _, dir := range saved(t, asked()) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			sameRun(t, dir)
			sameContests(t, dir)
			for _, c := range cells(t, dir) {
				t.Run(c.id, func(t *testing.T) {
					r, have := load(t, c.dir), leavesOf(t, c.published)
					want := compute(t, r)
					for _, d := range compare(r, want, have) {
						t.Error(d)
					}
					compared += len(want)
				})
			}
		})
	}
	t.Logf("%d figures, verdicts and points of curves computed", compared)
}

// flatten lists the leaves of a JSON value by their path.
func flatten(into map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(into, strings.TrimPrefix(path+"."+k, "."), x)
		}
	case []any:
		for i, x := range v {
			flatten(into, fmt.Sprintf("%s.%d", path, i), x)
		}
	default:
		into[path] = v
	}
}

// leavesOf are the leaves of a value as results.json has them.
func leavesOf(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	flatten(out, "", decoded)
	return out
}

// compare lists where the published leaves differ from what the oracle has.
func compare(r *record, want answers, have map[string]any) (out []string) {
	paths := map[string]bool{}
	for path := range have {
		paths[path] = true
	}
	for path := range want {
		paths[path] = true
	}
	for path := range paths {
		v, published := have[path]
		if d := differs(r, want, path, v, published); d != "" {
			out = append(out, path+": "+d)
		}
	}
	slices.Sort(out)
	return out
}

// differs compares one leaf and says what is wrong with it.
func differs(r *record, want answers, path string, v any, published bool) string {
	w, known := want[path]
	_, free := w.(optional)
	switch {
	case r.free(path), !published && free:
		return ""
	case !published:
		return fmt.Sprintf("none is published, the oracle has %v", w)
	case !known:
		return fmt.Sprintf("%v is published, the oracle has none", v)
	case !same(v, w):
		return fmt.Sprintf("%v is published, the oracle has %v", v, w)
	}
	return ""
}

func same(published, want any) bool {
	p, number := published.(float64)
	switch w := want.(type) {
	case within:
		return number && six(w.v-w.room) <= p && p <= six(w.v+w.room)
	case optional:
		return number && (agrees(p, w.v) || p == 0 && math.Abs(w.v) < 1e-12)
	case float64:
		return number && agrees(p, w)
	case hdr:
		text, ok := published.(string)
		return ok && w.is(text)
	}
	return published == want
}

// sameRun compares what results.json only copies from run.json.
func sameRun(t *testing.T, dir string) {
	var asked, published map[string]any
	readJSON(t, filepath.Join(dir, "run.json"), &asked)
	readJSON(t, filepath.Join(dir, "results.json"), &published)
	for part := range published { // thresholds are those of the tests of reports/result
		if !slices.Contains([]string{"schema", "run", "environment", "scenario", "cells", "thresholds", "contests"}, part) {
			t.Errorf("%s is published, and nobody computes it a second time", part)
		}
	}
	if published["schema"] != "watchbench/results/v1" {
		t.Errorf("schema %v", published["schema"])
	}
	var ids []any
	for _, c := range cells(t, dir) {
		ids = append(ids, c.id)
	}
	if recorded, _ := asked["cells"].([]any); !slices.Equal(ids, recorded) {
		t.Errorf("the cells %v are published, run.json has %v", ids, recorded)
	}
	want, have := map[string]any{}, map[string]any{}
	for _, part := range []string{"run", "environment", "scenario"} {
		flatten(want, part, asked[part])
		flatten(have, part, published[part])
	}
	for path, v := range have {
		if want[path] != v {
			t.Errorf("%s: %v is published, run.json has %v", path, v, want[path])
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d leaves of run, environment and scenario are published, run.json has %d", len(have), len(want))
	}
}

// sameContests orders the points of each contest again: every point takes part in one, those that take part stand in
// the order of the medians of their valid cells, and a ranked value is that median.
func sameContests(t *testing.T, dir string) {
	t.Helper()
	var run struct {
		Contests []struct {
			Figure        string
			Points, Takes []string
			Ranked        []struct {
				Point string
				Value float64
			}
		}
	}
	readJSON(t, filepath.Join(dir, "results.json"), &run)
	values, named := map[string][]float64{}, map[string]int{}
	for _, contest := range run.Contests {
		clear(values)
		for _, p := range contest.Points {
			named[p]++
		}
		for _, c := range cells(t, dir) {
			have := map[string]any{}
			flatten(have, "", c.published)
			v, measured := have[contest.Figure].(float64)
			point, _ := have["point"].(string)
			if point == "" {
				point = c.id
			}
			if have["valid"] == true && measured {
				values[point] = append(values[point], v)
			}
		}
		median := func(p string) float64 { return middle(values[p]) }
		for _, p := range contest.Takes {
			if len(values[p]) == 0 {
				t.Errorf("%s takes part without a figure", p)
			}
		}
		if !slices.IsSortedFunc(contest.Takes, func(a, b string) int { return cmp.Compare(median(a), median(b)) }) {
			t.Errorf("%v is not the order of %s: %v", contest.Takes, contest.Figure, values)
		}
		for _, r := range contest.Ranked {
			if !agrees(r.Value, median(r.Point)) {
				t.Errorf("%s is ranked at %v, its median is %v", r.Point, r.Value, median(r.Point))
			}
		}
	}
	for p, n := range named {
		if n != 1 {
			t.Errorf("%s stands in %d contests", p, n)
		}
	}
}

// middle is the median.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// six rounds to six significant digits, as all figures are published.
func six(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		panic(err)
	}
	return r
}

// agrees reports whether v is published as that number. A value halfway between two numbers of six digits may be
// published as either, since it depends on the order of the additions that made it.
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

// bucket is the highest value that a histogram of three significant digits, which counts whole microseconds from 1,
// cannot tell from v: below 2048 each value is its own, from there on 1024 buckets of equal width lie between one power
// of two and the next.
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

// configured reads median, mean and 99th percentile of a lognormal or constant latency, in seconds; false for other
// distributions.
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

// notCompared lists what results.json has and the oracle does not compute, and why.
var notCompared = []struct {
	path string
	// in says of which cells; nil means all.
	in  func(*record) bool
	why string
}{
	{`.*`, refused, "the watcher had to refuse its storage, so nothing was measured"},
	{`bottleneck\..*`, nil, "a sentence about the other figures; its rules are the code's"},
	{`invalidReasons\..*`, nil, "sentences; whether there are any is compared as valid"},
	{`lateReasons\..*`, nil, "the sentences among invalidReasons that a stalled machine may cause"},
	{`load\.(thinkSeconds|timed|prefill)`, nil, "copied from the scenario"},
	{`checks\.\w+\.(counterexample|furtherCounterexamples.*|evidence.*|note)`, nil, "sentences, and rows of op log and ledger; the verdict and the number of violations are compared"},
	{`checks\.(G6|G14)\.judged`, nil, "how many comparisons the judge happens to make"},
	{`checks\.(G7|G8|G9|G12|G13)\..*`, nil, "asked by the fault matrix alone, by rules that are the code's; the facts beside them are compared"},
	{`storage\.latency(P50|P99)Ms`, mixed, "quantiles of a distribution other than lognormal and constant, which the grammar's own tests hold to its draws"},
	{`watcher\.name`, nil, "copied from the scenario, or words of the command"},
	{`watcher\.(lists|watches)`, nil, "copied from the cell's record, where the API server is simulated"},
	{`robustness\..*`, nil, "the same as the matrix's entry"},
	{`readers\..*|checks\.R\d\..*`, nil, "held by the tests of assess, and by TestPublishedIsAsAssessed"},
	{`valid`, read, "readers may make a cell invalid"},
	{`series\..*`, nil, "points of curves, held by the tests of measure, and by TestPublishedIsAsAssessed"},
	{`resumed`, nil, "copied from the cell's record"},
	{`profiles\..*`, nil, "names of files"},
	{`checks\.(G10|G11|G14)\..*`, faulty, "a request of unknown outcome, or one that was applied twice, may be on either side; the rules for those need the watcher's fence"},
	{`checks\.G10\..*`, restarted, "which requests a watcher that was killed has left behind is a matter of the fence, too"},
	{`storage\.latencyMeanMs`, slow, "how long it is slow is drawn while it runs"},
	{`checks\.G11\..*`, emptied, "whether a DELETE that found nothing was sent for the second time is not in the ledger"},
	{`checks\.(G[2345]|G11)\..*`, eventful, "events change objects that no operation of the op log names"},
	{`events\.(lost|reordered)`, eventful, "events change objects that no operation of the op log names"},
	{`(series\.watcher|watcher|events|queues|handler|writer|parties|checks\.G6|checks\.G14|storage\.requestsPerEvent|storage\.bytesPerEvent).*`, restarted, "the counters of several processes"},
	{`(handler|storage|writer)\.(workers|queues|capacity|limitQPS|efficiency|efficiencyBacklog|backlogSeconds|imbalance)`, eventful, "queues may be changed under load"},
}

func faulty(r *record) bool    { return len(r.cell.Scenario.Storage.Faults) > 0 }
func eventful(r *record) bool  { return len(r.cell.Scenario.Events) > 0 }
func refused(r *record) bool   { return len(r.cell.Refusal) > 0 }
func restarted(r *record) bool { return r.cell.Watcher.Restarts > 0 || r.cell.Watcher.Joined }

func read(r *record) bool { return len(r.cell.Scenario.Readers) > 0 }

func mixed(r *record) bool {
	_, _, _, ok := configured(r.cell.Scenario.Storage.Latency)
	return !ok
}

func slow(r *record) bool { return strings.HasPrefix(r.cell.Scenario.Storage.Latency, "slow(") }

func emptied(r *record) bool {
	return slices.ContainsFunc(r.ledger, func(q request) bool { return q.Method == "DELETE" && q.took() && q.UID == "" })
}

// forms are their paths, whole.
var forms = func() (all []*regexp.Regexp) {
	for _, n := range notCompared {
		all = append(all, regexp.MustCompile("^"+n.path+"$"))
	}
	return all
}()

// free reports whether a path is on the list for the record.
func (r *record) free(path string) bool {
	for i, n := range notCompared {
		if (n.in == nil || n.in(r)) && forms[i].MatchString(path) {
			return true
		}
	}
	return false
}
