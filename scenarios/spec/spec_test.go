package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const minimal = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: tiny}
load: {model: closed, threads: 2, operations: 10}
`

const swept = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: swept}
load:
  lifecycle: pod/fast
  bystander: {kind: ConfigMap, rate: 2}
watcher: {podQueueNum: 7}
matrix:
  watcher.strategy: [single, keyed]
  load:
    light: {model: closed, threads: 10, operations: 360}
    heavy: {model: closed, threads: 40, duration: 5s, bystander: {rate: 4}}
expect:
  G1: pass
  G2: {default: pass, unordered: fail-allowed}
`

func TestDefaultsHold(t *testing.T) {
	f, err := Format{}.Parse("tiny.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Cells()); n != 1 {
		t.Fatalf("%d cells, want 1", n)
	}
	got := f.Cells()[0]
	want := Default()
	want.APIVersion, want.Kind, want.Metadata.Name = APIVersion, Kind, "tiny"
	want.Load.Model, want.Load.Threads, want.Load.Operations = "closed", 2, 10
	if d := cmp.Diff(want, got.Scenario); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.ID != "only" {
		t.Errorf("id %q", got.ID)
	}
}

func TestMatrixExpandsInWrittenOrder(t *testing.T) {
	f, err := Format{}.Parse("swept.yaml", []byte(swept))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID, Strategy string
		Threads      int
		Operations   int64
		Rate         float64
	}
	var got []row
	for _, c := range f.Cells() {
		s := c.Scenario
		got = append(got, row{c.ID, s.Watcher.Strategy, s.Load.Threads, s.Load.Operations, s.Load.Bystander.Rate})
		if s.Watcher.PodQueueNum != 7 || s.Load.Lifecycle != "pod/fast" {
			t.Errorf("%s lost what all cells share: %+v", c.ID, s.Watcher)
		}
	}
	want := []row{
		{"single-light", "single", 10, 360, 2}, {"single-heavy", "single", 40, 0, 4},
		{"keyed-light", "keyed", 10, 360, 2}, {"keyed-heavy", "keyed", 40, 0, 4},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Param{{"watcher.strategy", "keyed"}, {"load", "heavy"}}, f.Cells()[3].Params); d != "" {
		t.Errorf("params (-want +got):\n%s", d)
	}
}

// TestOnly: of the combinations those that are named are run, in the order of the matrix.
func TestOnly(t *testing.T) {
	for _, tc := range []struct {
		points string
		sets   []string
		want   string
	}{
		{"", nil, "single-light single-heavy keyed-light keyed-heavy"},
		{"{watcher.strategy: keyed, load: heavy}, {watcher.strategy: single, load: light}", nil, "single-light keyed-heavy"},
		{"{load: heavy}", nil, "single-heavy keyed-heavy"},
		{"{load: heavy}", []string{"only=[]"}, "single-light single-heavy keyed-light keyed-heavy"},
		{"{watcher.strategy: single, load: light}, {load: heavy}", []string{"matrix.watcher.strategy=keyed"}, "keyed-heavy"},
		{"{watcher.strategy: single, load: light}", []string{"matrix.load=heavy"}, "swept.yaml: only: no point of the matrix is left to run; name points that are chosen, or leave it out"},
		{"{load: huge}", nil, `swept.yaml:16: only[0]: load has no point "huge"; use one of light, heavy`},
		{"{}", nil, "swept.yaml:16: only[0]: a point without an axis; write for example {watcher.strategy: single}"},
	} {
		f, err := Format{}.Parse("swept.yaml", []byte(swept+"only: ["+tc.points+"]\n"), tc.sets...)
		var got []string
		if err != nil {
			got = []string{err.Error()}
		} else {
			for _, c := range f.Cells() {
				got = append(got, c.ID)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("[%s] %v: %s, want %s", tc.points, tc.sets, strings.Join(got, " "), tc.want)
		}
	}
}

func TestRepeatOnce(t *testing.T) {
	once := func(f *File) string {
		var out []string
		for _, c := range f.Cells() {
			if c.Once {
				out = append(out, c.ID)
			}
		}
		return strings.Join(out, " ")
	}
	for _, tc := range []struct {
		point string
		sets  []string
		want  string
	}{
		{"", nil, ""},
		{"{watcher.strategy: single, load: heavy}", nil, "single-heavy"},
		{"{load: heavy}", nil, "single-heavy keyed-heavy"},
		{"{watcher.strategy: single}, {load: light}", nil, "single-light single-heavy keyed-light"},
		{"{watcher.strategy: single, load: heavy}", []string{"matrix.watcher.strategy=keyed,dedup"}, ""},
		{"{watcher.strategy: single, load: heavy}", []string{"repeatOnce=[]"}, ""},
		{"", []string{"matrix.watcher.podQueueNum=1,30", "repeatOnce=[{watcher.podQueueNum: 30, load: light}]"}, "single-light-30 keyed-light-30"},
		{"{load: huge}", nil, `swept.yaml:16: repeatOnce[0]: load has no point "huge"; use one of light, heavy`},
		{"{load: heavy}, {storage.mode: faithful}", nil, "swept.yaml:16: repeatOnce[1]: the matrix has no axis storage.mode; name axes of the matrix"},
		{"{watcher.strategy: [single]}", nil, "swept.yaml:16: repeatOnce[0].watcher.strategy: a list where one value is wanted; write one value; for several, write a point each: {watcher.strategy: a}, {watcher.strategy: b}"},
		{"{}", nil, "swept.yaml:16: repeatOnce[0]: a point without an axis; write for example {watcher.strategy: single}"},
	} {
		f, err := Format{}.Parse("swept.yaml", []byte(swept+"repeatOnce: ["+tc.point+"]\n"), tc.sets...)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = once(f)
		}
		if got != tc.want {
			t.Errorf("[%s] %v: %s, want %s", tc.point, tc.sets, got, tc.want)
		}
	}
}

func TestSets(t *testing.T) {
	for _, tc := range []struct {
		name string
		sets []string
		want string // ids, or a field of the first cell
		read func(f *File) string
	}{
		{"a field", []string{"load.survivors=0.5"}, "0.5", func(f *File) string { return fmt.Sprint(f.Cells()[0].Scenario.Load.Survivors) }},
		{"a field wins over the matrix", []string{"load.threads=3"}, "3 3 3 3", func(f *File) string { return each(f, func(c Cell) any { return c.Scenario.Load.Threads }) }},
		{"a field of one point", []string{"matrix.load.heavy.threads=3", "matrix.load.heavy.bystander.rate=5"}, "10 2, 3 5, 10 2, 3 5,", func(f *File) string {
			return each(f, func(c Cell) any {
				return fmt.Sprintf("%d %v,", c.Scenario.Load.Threads, c.Scenario.Load.Bystander.Rate)
			})
		}},
		{"the last one wins", []string{"repeat=2", "repeat=3"}, "3", func(f *File) string { return fmt.Sprint(f.Base().Repeat) }},
		{"an axis is pinned", []string{"watcher.strategy=dedup"}, "dedup-light dedup-heavy", ids},
		{"named points are chosen", []string{"matrix.load=heavy"}, "single-heavy keyed-heavy", ids},
		{"values of an axis are replaced", []string{"matrix.watcher.strategy=dedup,partitioned", "matrix.load=light"}, "dedup-light partitioned-light", ids},
		{"an axis is added", []string{"matrix.watcher.podQueueNum=[1, 30]", "matrix.load=light", "watcher.strategy=keyed"}, "keyed-light-1 keyed-light-30", ids},
		{"a value with commas stays whole", []string{"storage.latency=lognormal(mean=5ms,p99=9ms)"}, "lognormal(mean=5ms,p99=9ms)", func(f *File) string { return f.Base().Storage.Latency }},
		{"so it does in an axis", []string{"matrix.storage.latency=uniform(1ms,2ms),3ms", "matrix.load=light", "watcher.strategy=keyed"},
			"keyed-light-uniform_1ms_2ms keyed-light-3ms", ids},
		{"a mapping is merged", []string{"load.bystander={rate: 9}"}, "9 ConfigMap", func(f *File) string {
			b := f.Cells()[0].Scenario.Load.Bystander
			return fmt.Sprint(b.Rate, " ", b.Kind)
		}},
		{"a section is taken away", []string{"load.bystander=null", "matrix.load=light"}, "true", func(f *File) string { return fmt.Sprint(f.Base().Load.Bystander == nil) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := Format{}.Parse("swept.yaml", []byte(swept), tc.sets...)
			if err != nil {
				t.Fatal(err)
			}
			if got := tc.read(f); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func ids(f *File) string { return each(f, func(c Cell) any { return c.ID }) }

func each(f *File, of func(Cell) any) string {
	var out []string
	for _, c := range f.Cells() {
		out = append(out, fmt.Sprint(of(c)))
	}
	return strings.Join(out, " ")
}

func TestRecord(t *testing.T) {
	f, err := Format{}.Parse("swept.yaml", []byte(swept), "matrix.load=heavy", "watcher.podQueueNum=9", "seed=18446744073709551615")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Record()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"watcher.strategy": []any{"single", "keyed"},
		"load":             map[string]any{"heavy": map[string]any{"model": "closed", "threads": 40, "duration": "5s", "bystander": map[string]any{"rate": 4}}},
	}
	if d := cmp.Diff(want, got["matrix"]); d != "" {
		t.Errorf("matrix (-want +got):\n%s", d)
	}
	if w := got["watcher"].(map[string]any); w["podQueueNum"] != 9.0 {
		t.Errorf("the override is not recorded: %v", w)
	}
	if l := got["load"].(map[string]any); l["threads"] != nil || l["lifecycle"] != "pod/fast" {
		t.Errorf("the shared part holds a point's fields or lost its own: %v", l)
	}
}

func TestThresholds(t *testing.T) {
	const bounds = minimal + `thresholds:
  freshness.p99: "< 1s"
  events: {lost: <= 0}
`
	for _, tc := range []struct {
		text string
		sets []string
		want string
	}{
		{bounds, nil, "map[events.lost:<= 0 freshness.p99:< 1s]"},
		{bounds, []string{"thresholds.freshness.p99=< 2s", "thresholds.events.lost="}, "map[freshness.p99:< 2s]"},
		{bounds, []string{"thresholds="}, "map[]"},
		{minimal, []string{"thresholds.watcher.rssPeakMiB=< 64"}, "map[watcher.rssPeakMiB:< 64]"},
		{minimal + "thresholds:\n  freshnes.p99: < 1s", nil, "tiny.yaml:6: thresholds.freshnes.p99: unknown metric; did you mean freshness.p99?"},
		{minimal + "thresholds:\n  freshness.p99: < 1", nil, `tiny.yaml:6: thresholds.freshness.p99: "1" has no unit; write for example '< 1s'`},
		{bounds + "  freshness: {p99: < 3s}", nil, "tiny.yaml:8: thresholds.freshness.p99: given twice; keep one"},
		{minimal + "thresholds: [a]", nil, "tiny.yaml:5: thresholds: not a mapping; write for example freshness.p99: '< 1s'"},
		{minimal, []string{"thresholds.freshness.p99=1s"}, `--set thresholds.freshness.p99=1s: thresholds.freshness.p99: "1s" begins with none of <, <=, > and >=; write for example '< 1s'`},
		{minimal + "matrix: {thresholds: [1]}", nil, "tiny.yaml:5: matrix.thresholds: thresholds cannot be swept: it holds for the whole run; set it outside of matrix, and run the scenario once for each value"},
		{minimal + "fault: {row: F2, title: x, assert: [C]}\nthresholds: {freshness.p99: < 1s}", nil, "tiny.yaml:6: thresholds: a row of the fault matrix has columns; use fault.freshness, fault.recovery and ceilings"},
	} {
		f, err := Format{}.Parse("tiny.yaml", []byte(tc.text), tc.sets...)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(map[string]string(f.Base().Thresholds))
		}
		if got != tc.want {
			t.Errorf("%v:\n got %s\nwant %s", tc.sets, got, tc.want)
		}
	}
}

func TestExpect(t *testing.T) {
	f, err := Format{}.Parse("swept.yaml", []byte(swept))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Base().Expect
	for _, tc := range []struct{ check, strategy, want string }{
		{"G1", "keyed", ExpectPass}, {"G2", "keyed", ExpectPass}, {"G2", "unordered", ExpectFailAllowed}, {"G9", "single", ExpectPass},
	} {
		if got := e.Of(tc.check, tc.strategy); got != tc.want {
			t.Errorf("%s of %s: %s, want %s", tc.check, tc.strategy, got, tc.want)
		}
	}
}

// TestPair: what a pair needs, and what would break its blocks.
func TestPair(t *testing.T) {
	for _, tc := range []struct {
		text string
		sets []string
		want string // empty: taken
	}{
		{"repeat: 2\npair: watcher.strategy\n", nil, ""},
		{"repeat: 4\npair: load\n", nil, ""},
		{"repeat: 2\npair: watcher.strategy\nonly: [{load: light}]\n", nil, "s.yaml:17: pair: both points of a pair are run, as often as repeat says; drop it, or repeatOnce, only and ladder"},
		{"repeat: 2\npair: load\n", []string{"matrix.load=light"}, "s.yaml:17: pair: a pair has two points, the axis load has 1; keep two, or drop pair"},
		{"repeat: 2\npair: load\n", []string{"matrix.load=light", "pair=''"}, ""},
		{"repeat: 2\n", []string{"pair=watcher.strategy"}, ""},
		{"repeat: 2\n", []string{"pair=watcher.strateg"}, "--set pair=watcher.strateg: pair: the matrix has no axis watcher.strateg; write for example matrix: "},
		{"pair: watcher.strategy\nrepeat: 3\n", nil, "s.yaml:17: repeat: 3 is odd, and the axis watcher.strategy is a pair; use 4, so that the blocks A B B A are whole"},
		{"pair: watcher.strategy\n", nil, "s.yaml: repeat: 1 is odd, and the axis watcher.strategy is a pair; use 2, so that the blocks A B B A are whole"},
		{"repeat: 2\npair: watcher.strategy\n", []string{"matrix.watcher.strategy=keyed,single,dedup"}, "s.yaml:17: pair: a pair has two points, the axis watcher.strategy has 3; keep two, or drop pair"},
		{"repeat: 2\npair: load\nrepeatOnce: [{load: light}]\n", nil, "s.yaml:17: pair: both points of a pair are run, as often as repeat says; drop it, or repeatOnce, only and ladder"},
		{"repeat: 2\npair: load\nladder: true\n", []string{"cluster.provider=simulated"}, "s.yaml:17: pair: both points of a pair are run, as often as repeat says; drop it, or repeatOnce, only and ladder"},
		{"repeat: 2\npair: [load]\n", nil, "s.yaml:17: pair: a list where one value is wanted; write one value"},
		{"repeat: 2\nmatrix: {pair: [load]}\n", nil, "s.yaml:17: matrix: given twice in one mapping; keep one"},
	} {
		_, err := Format{}.Parse("s.yaml", []byte(swept+tc.text), tc.sets...)
		if got := fmt.Sprint(err); (err == nil) != (tc.want == "") || !strings.Contains(got, tc.want) && err != nil {
			t.Errorf("%q %v:\n got %s\nwant %s", tc.text, tc.sets, got, tc.want)
		}
	}
	if _, err := (Format{}).Parse("s.yaml", []byte(minimal), "repeat=2", "pair=watcher"); err == nil || !strings.Contains(err.Error(), "pair: the matrix has no axis watcher; write ") {
		t.Error(err)
	}
}

// TestBadInput holds every message to its place, field and remedy.
func TestBadInput(t *testing.T) {
	with := func(old, repl string) string {
		if !strings.Contains(swept, old) {
			t.Fatalf("the fixture has no %q", old)
		}
		return strings.Replace(swept, old, repl, 1)
	}
	for _, tc := range []struct {
		name, src string
		sets      []string
		want      string
	}{
		{"empty", "", nil, "s.yaml: the file is empty; a scenario starts with apiVersion: watchbench/v1"},
		{"a list", "- a\n", nil, "s.yaml:1: the file is not a mapping; a scenario starts with apiVersion: watchbench/v1"},
		{"not YAML", "kind: [a\nb: c", nil, "s.yaml:1: not YAML: did not find expected ',' or ']'; check indentation and quotes there"},
		{"two documents", minimal + "---\na: b\n", nil, "s.yaml:5: a second YAML document; a file holds one scenario; use matrix for variants"},
		{"binary", "a\x00b", nil, "s.yaml: the file is not text; a scenario is a YAML mapping in UTF-8"},
		{"an alias", "a: &x 1\nb: *x\n", nil, "s.yaml:1: anchors and aliases are not read; write the value out"},
		{"twice", minimal + "repeat: 1\nrepeat: 2\n", nil, "s.yaml:6: repeat: given twice in one mapping; keep one"},
		{"unknown field", with("lifecycle", "lifecicle"), nil, "s.yaml:5: load.lifecicle: unknown field; did you mean lifecycle?"},
		{"unknown field far from any", with("podQueueNum", "wibbles"), nil,
			"s.yaml:7: watcher.wibbles: unknown field; the fields there are profile, strategy, podQueueNum, writerQueueLen, handlerQueueLen, queueFull, queueFullTimeout, synchronizer, cacheCheck, storageTimeout, drainTimeout, replicas, leaderElection, shards, shardBy, resources, command, name"},
		{"former section", minimal + "calibrate: {load: {threads: 60}}\n", nil,
			"s.yaml:5: calibrate: unknown field; sweep the rate, for example matrix: {load.rate: [50, 100, 200]}"},
		{"former field", minimal, []string{"load.ofCapacity=80%"}, "--set load.ofCapacity=80%: load.ofCapacity: unknown field; sweep the rate, for example matrix: {load.rate: [50, 100, 200]}"},
		{"former axis", minimal + "matrix: {load.ofCapacity: [50%, 80%]}\n", nil, "s.yaml:5: matrix.load.ofCapacity: unknown field; sweep the rate, for example matrix: {load.rate: [50, 100, 200]}"},
		{"unknown field in a point", with("threads: 10", "thread: 10"), nil, "s.yaml:11: load.thread: unknown field; did you mean threads?"},
		{"a list for a value", with("podQueueNum: 7", "podQueueNum: [7, 8]"), nil,
			"s.yaml:7: watcher.podQueueNum: a list where one value is wanted; write one value; to try several, use matrix with the key watcher.podQueueNum"},
		{"no value", with("{podQueueNum: 7}", "{podQueueNum: }"), nil, "s.yaml:7: watcher.podQueueNum: nothing where one value is wanted; write one value"},
		{"a word for a number", with("podQueueNum: 7", "podQueueNum: many"), nil,
			`s.yaml:7: watcher.podQueueNum: "many" is not a whole number; write digits only, for example 30`},
		{"a value for a section", with("{podQueueNum: 7}", "7"), nil,
			"s.yaml:7: watcher: not a mapping; write fields below it: profile, strategy, podQueueNum, writerQueueLen, handlerQueueLen, queueFull, queueFullTimeout, synchronizer, cacheCheck, storageTimeout, drainTimeout, replicas, leaderElection, shards, shardBy, resources, command, name"},
		{"no unit", with("duration: 5s", "duration: 5"), nil, `s.yaml:12: load.duration: "5" is not a duration; write a number with ms, s, m or h, for example 45s`},
		{"wrong unit", with("lifecycle: pod/fast", "objectBytes: 3Kb"), nil,
			`s.yaml:5: load.objectBytes: "3Kb" is not a size; write a number with B, kB, KiB, MB, MiB or GiB, for example 3KiB`},
		{"negative power", minimal + "limits: {minPower: -1}\n", nil, "s.yaml:5: limits.minPower: -1 is out of range; use 0 to 1000000"},
		{"hot keys", strings.Replace(minimal, "operations: 10", "operations: 10, hotkeys: {objects: 1, burst: 2, share: 2}", 1), nil,
			"s.yaml:4: load.hotkeys.share: 2 is out of range; use more than 0 and at most 0.9"},
		{"no share", minimal + "limits: {minEvents: 0.8}\n", nil, `s.yaml:5: limits.minEvents: "0.8" is not a share; write 0% to 100%, for example 80%`},
		{"negative time", minimal + "drainTimeout: -3s\n", nil, `s.yaml:5: drainTimeout: "-3s" is negative; write a duration from 0s`},
		{"no time for the cache check", minimal + "watcher: {cacheCheck: {period: 0s}}\n", nil, "s.yaml:5: watcher.cacheCheck.period: 0s is out of range; use 1s or more"},
		{"no grace, as an override", minimal, []string{"watcher.cacheCheck.grace=0s"}, "--set watcher.cacheCheck.grace=0s: watcher.cacheCheck.grace: 0s is out of range; use 1s or more"},
		{"short drain", minimal + "drainTimeout: 3ms\n", nil, "s.yaml:5: drainTimeout: 3ms is out of range; use 1s or more"},
		{"other version", strings.Replace(minimal, "watchbench/v1", "watchbench/v2", 1), nil, `s.yaml:1: apiVersion: "watchbench/v2" is not known; use one of watchbench/v1`},
		{"no version", strings.Replace(minimal, "apiVersion: watchbench/v1\n", "", 1), nil, `s.yaml: apiVersion: "" is not known; use one of watchbench/v1`},
		{"bad name", strings.Replace(minimal, "name: tiny", "name: ../up", 1), nil,
			`s.yaml:3: metadata.name: "../up" is not a name; use at most 63 lower-case letters, digits and dashes`},
		{"no model", strings.Replace(minimal, "model: closed, ", "", 1), nil, "s.yaml:4: load.model: is missing; use closed (threads) or open (rate)"},
		{"a rate in a closed loop", strings.Replace(minimal, "threads: 2", "threads: 2, rate: 5", 1), nil,
			"s.yaml:4: load.rate: belongs to the open model; drop it, or set model: open and drop threads"},
		{"no end", strings.Replace(minimal, ", operations: 10", "", 1), nil,
			"s.yaml:4: load.operations: is missing; a closed loop ends after a number of operations, a duration, or the first of both"},
		{"unknown strategy", with("[single, keyed]", "[single, keyd]"), nil,
			`s.yaml:9: watcher.strategy: "keyd" is not known; use one of single, unordered, dedup, partitioned, keyed, adaptive`},
		{"unknown verdict", with("G1: pass", "G1: maybe"), nil, `s.yaml:14: expect.G1: "maybe" is not a verdict; use one of pass, fail-allowed, fail-expected`},
		{"unknown verdict of a strategy", with("unordered: fail-allowed", "unordered: no"), nil,
			`s.yaml:15: expect.G2.unordered: "no" is not a verdict; use one of pass, fail-allowed, fail-expected`},
		{"unknown strategy of a verdict", with("unordered: fail-allowed", "chaotic: pass"), nil,
			"s.yaml:15: expect.G2.chaotic: unknown strategy; use one of default, single, unordered, dedup, partitioned, keyed, adaptive, external"},
		{"unknown check", with("G1: pass", "G15: pass"), nil, "s.yaml:14: expect.G15: unknown check; checks are G1 to G14"},
		{"empty axis", with("[single, keyed]", "[]"), nil, "s.yaml:9: matrix.watcher.strategy: no points, so there is nothing to run; give it at least one, or take the axis away"},
		{"axis without a list", with("[single, keyed]", "keyed"), nil,
			"s.yaml:9: matrix.watcher.strategy: not a list; write the values of watcher.strategy in brackets, for example [keyed]"},
		{"axis twice in one point", with("[single, keyed]", "[keyed, keyed]"), nil,
			`s.yaml:9: matrix.watcher.strategy: the point "keyed" is there twice; keep one; use repeat to measure again`},
		{"axis of an unknown field", with("watcher.strategy:", "watcher.stratgy:"), nil, "s.yaml:9: matrix.watcher.stratgy: unknown field; did you mean watcher.strategy?"},
		{"axis below a value", with("watcher.strategy:", "watcher.strategy.x:"), nil,
			"s.yaml:9: matrix.watcher.strategy.x: watcher.strategy has no fields; give the path of a field of the scenario"},
		{"axis of the run", with("watcher.strategy: [single, keyed]", "repeat: [1, 2]"), nil,
			"s.yaml:9: matrix.repeat: repeat cannot be swept: it holds for the whole run; set it outside of matrix, and run the scenario once for each value"},
		{"section without names", with("watcher.strategy: [single, keyed]", "watcher: [single, keyed]"), nil,
			"s.yaml:9: matrix.watcher: watcher is a section, so its points need names; write watcher: {a: {…}, b: {…}}"},
		{"point without fields", with("{model: closed, threads: 10, operations: 360}", "{}"), nil,
			"s.yaml:11: matrix.load.light: a point without fields; write the fields of load it sets, for example light: {threads: 10}"},
		{"two axes, one field", with("watcher.strategy: [single, keyed]", "load.threads: [1, 2]"), nil,
			"s.yaml:11: matrix.load: load.threads is set by the axis load.threads as well; let one axis set it"},
		{"two points, one name", with("    heavy:", "    Light:"), nil, `s.yaml:10: matrix: two cells would both be called "single-light"; give the points names that differ in letters or digits`},
		{"impossible combination", with("heavy: {model: closed, threads: 40, duration: 5s", "heavy: {model: open, threads: 40, rate: 9, duration: 5s"), nil,
			"s.yaml:12: load.threads: belongs to the closed model; drop it, or set model: closed and drop rate"},
		{"bystander not watched", with("{podQueueNum: 7}", "{resources: [Pod]}"), nil,
			"s.yaml:7: watcher.resources: the load writes the kind ConfigMap, which is not watched; add ConfigMap"},
		{"command without config", with("{podQueueNum: 7}", "{command: /bin/watcher}"), nil,
			"s.yaml:7: watcher.command: the command never names its config; write {config} where the path of the config file belongs"},
		{"bad latency", minimal + "storage: {latency: 87}\n", nil, "s.yaml:5: storage.latency: "},
		{"kinds without a limit", minimal + "storage: {capacity: {inflight: 0, kinds: [Pod]}}\n", nil, "s.yaml:5: storage.capacity.kinds: "},
		{"bad fault", minimal + "storage: {faults: [503:1%, maybe]}\n", nil, "s.yaml:5: storage.faults[1]: "},
		{"losses of any kind", minimal + "watch: {faults: ['lost(deleted):1%']}\n", nil,
			"s.yaml:5: watch.faults: lost(deleted) is counted by its kind and name: want kind=, and another name= where there are two; write for example lost(deleted,kind=Pod,name=pods)"},
		{"losses of one name", minimal + "watch: {faults: ['lost(deleted,kind=Pod)', 'lost(deleted,kind=Node)']}\n", nil,
			"s.yaml:5: watch.faults: lost(deleted) is counted by its kind and name: want kind=, and another name= where there are two; write for example lost(deleted,kind=Pod,name=pods)"},
		{"two faults in one", minimal + "storage: {faults: ['503:1%,reset:1%']}\n", nil,
			"s.yaml:5: storage.faults[0]: 2 faults in one entry; write one fault per entry, for example 503:1%"},
		{"set without value", swept, []string{"load.threads"}, "--set load.threads: not path=value; write for example --set load.threads=20"},
		{"set of an unknown field", swept, []string{"load.thread=4"}, "--set load.thread=4: load.thread: unknown field; did you mean load.threads?"},
		{"set of a wrong type", swept, []string{"load.threads=many"}, `--set load.threads=many: load.threads: "many" is not a whole number; write digits only, for example 30`},
		{"set of an unknown field of a point", swept, []string{"matrix.load.heavy.thread=4"}, "--set matrix.load.heavy.thread=4: matrix.load.heavy.thread: unknown field; did you mean load.threads?"},
		{"set of a bad value in a point", swept, []string{"matrix.load.heavy.threads=x"}, `--set matrix.load.heavy.threads=x: load.threads: "x" is not a whole number; write digits only, for example 30`},
		{"set of an unknown point", swept, []string{"matrix.load=huge"}, `--set matrix.load=huge: matrix.load: no point is called "huge"; use one of light, heavy`},
		{"set of no point", swept, []string{"matrix.load="}, "--set matrix.load=: matrix.load: no points, so there is nothing to run; give it at least one, or take the axis away"},
		{"set below a value", swept, []string{"load.threads.x=1"}, "--set load.threads.x=1: load.threads: a mapping where one value is wanted; write one value"},
		{"set of an invalid value", swept, []string{"watcher.podQueueNum=0"}, "--set watcher.podQueueNum=0: watcher.podQueueNum: 0 is out of range; use 1 to 4096"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Format{}.Parse("s.yaml", []byte(tc.src), tc.sets...)
			if err == nil {
				t.Fatal("no error")
			}
			got, open := err.Error(), strings.HasSuffix(tc.want, ": ") // open: the rest is another package's
			if (!open && got != tc.want) || !strings.HasPrefix(got, tc.want) {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Error("more than one line")
			}
		})
	}
}

func TestBounds(t *testing.T) {
	deep := strings.Repeat("{a: ", MaxDepth+2) + "1" + strings.Repeat("}", MaxDepth+2)
	wide := "a: [" + strings.Repeat("1, ", MaxNodes) + "1]"
	var axes strings.Builder
	axes.WriteString(minimal + "matrix:\n")
	for _, path := range []string{"watcher.podQueueNum", "watcher.handlerQueueLen", "watcher.writerQueueLen"} {
		fmt.Fprintf(&axes, "  %s: [1, 2, 3, 4, 5, 6, 7, 8]\n", path)
	}
	for _, tc := range []struct{ name, src, want string }{
		{"long", strings.Repeat("#\n", MaxBytes), "a scenario has at most"},
		{"deep", deep, "nested too deeply"},
		{"wide", wide, "too many values"},
		{"many cells", axes.String(), "matrix: 512 points (8 of watcher.podQueueNum × 8 of watcher.handlerQueueLen × 8 of watcher.writerQueueLen), at most 400 are run; use fewer values, or choose points for a run of their own: --set matrix.watcher.podQueueNum=1"},
	} {
		if _, err := (Format{}).Parse("s.yaml", []byte(tc.src)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestValuesRoundTrip(t *testing.T) {
	for _, s := range []string{"45s", "1m30s", "250ms", "2h", "1h0m5s", "5m"} {
		var d Duration
		if err := d.UnmarshalText([]byte(s)); err != nil || d.String() != s {
			t.Errorf("duration %s became %s: %v", s, d, err)
		}
	}
	for _, s := range []string{"0B", "3KiB", "1500B", "2MiB", "1GiB"} {
		var v Size
		if err := v.UnmarshalText([]byte(s)); err != nil || v.String() != s {
			t.Errorf("size %s became %s: %v", s, v, err)
		}
	}
	for _, s := range []string{"0%", "80%", "99.5%", "100%"} {
		var v Share
		if err := v.UnmarshalText([]byte(s)); err != nil || v.String() != s {
			t.Errorf("share %s became %s: %v", s, v, err)
		}
	}
}

// roundTrip compares a scenario with what reads back from its JSON: the run's folder keeps it so.
func roundTrip(s Scenario) string {
	data, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	var back Scenario
	if err := json.Unmarshal(data, &back); err != nil {
		return err.Error()
	}
	return cmp.Diff(s, back)
}

// FuzzParse checks that no input panics, and that what is accepted can be run and recorded: every cell is valid,
// survives as JSON and has a name that is safe as a folder's.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal), "load.threads=3")
	f.Add([]byte(swept), "matrix.load=heavy")
	f.Add([]byte(swept), "watcher.strategy=keyed")
	f.Add([]byte(minimal+"matrix: {watcher.podQueueNum: [1, 4]}\n"), "matrix.storage.latency=5ms,1s")
	f.Add([]byte(minimal+"matrix: {storage.faults: {a: [], b: ['503:1%']}}\nrepeat: 2\npair: storage.faults\n"), "matrix.load.objectBytes=3KiB..1MiB +1B")
	f.Add([]byte("a: &x [*x]"), "=")
	f.Add([]byte("matrix: {load: {a: {load: {}}}}"), "matrix.=")
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		for _, sets := range [][]string{nil, {set}} {
			file, err := Format{}.Parse("f.yaml", src, sets...)
			if err != nil {
				if strings.TrimSpace(err.Error()) == "" {
					t.Error("an error without words")
				}
				continue
			}
			for _, c := range file.Cells() {
				if err := c.Scenario.validate(nil, func(string) bool { return false }); err != nil {
					t.Errorf("accepted, yet invalid: %v", err)
				}
				if d := roundTrip(c.Scenario); d != "" {
					t.Errorf("as JSON (-written +read):\n%s", d)
				}
				if c.ID == "" || strings.ContainsAny(c.ID, "/\\ ") || strings.HasPrefix(c.ID, ".") {
					t.Errorf("unsafe id %q", c.ID)
				}
			}
		}
	})
}

func TestLatencyDeviation(t *testing.T) {
	for text, want := range map[string]float64{ // ms; -1: a mean of single draws says little
		"87ms": 0, "kind=Pod: uniform(10ms,22ms); 1s": 12 / math.Sqrt(12),
		"exponential(50ms)": 50, "mix(0.98=5ms,0.02=2s)": 1995 * math.Sqrt(0.02*0.98), "slow(base=5ms,x=10,every=10s,for=1s)": -1,
	} {
		d, ok := Storage{Latency: text}.LatencyDeviation("Pod")
		if got := float64(d) / 1e6; ok != (want >= 0) || ok && math.Abs(got-want) > 0.1*want {
			t.Errorf("%s: %v ms, %v; want %v", text, got, ok, want)
		}
	}
}
