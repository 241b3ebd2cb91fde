package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryFieldIsSweptOrSaysWhy: each field of a scenario, as the reference lists them, is an axis, is a part of a list,
// or is refused since it holds for the whole run.
func TestEveryFieldIsSweptOrSaysWhy(t *testing.T) {
	f, err := Format{}.Parse("tiny.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	refused, swept := map[string]bool{}, 0
	for _, field := range (Format{}).Fields() {
		path, inList := strings.ReplaceAll(field.Path, "[]", ""), strings.Contains(field.Path, "[]")
		_, _, err := f.checkPath(f.tree.Root, path, "matrix."+path)
		switch name := whole(path); {
		case name != "":
			refused[name] = true
			if err == nil || !strings.Contains(err.Error(), name+" cannot be swept") {
				t.Errorf("%s: %v", path, err)
			}
		case inList != (err != nil):
			t.Errorf("%s: %v", field.Path, err)
		case err == nil:
			swept++
		}
	}
	if len(refused) != len(fixed) || swept < 80 {
		t.Errorf("%d fields can be swept; refused %v, want %v", swept, refused, fixed)
	}
}

// TestRangesOfAxes: a range is several points, mixed with others, in the file and in --set.
func TestRangesOfAxes(t *testing.T) {
	for _, tc := range []struct {
		matrix string
		sets   []string
		want   string // the points, or part of the error
	}{
		{"watcher.podQueueNum: 1..64 *4", nil, "1 4 16 64"},
		{"watcher.podQueueNum: [100, 1..4 *2, 30]", nil, "100 1 2 4 30"},
		{"storage.latency: [5ms..20ms *2, 'lognormal(mean=87ms,p99=110ms)']", nil, "5ms 10ms 20ms lognormal(mean=87ms,p99=110ms)"},
		{"load.objectBytes: 3KiB..12KiB *2", nil, "3KiB 6KiB 12KiB"},
		{"watcher.storageTimeout: 1s..3s +1s", nil, "1s 2s 3s"},
		{"limits.minEvents: 60%..80% +10%", nil, "60% 70% 80%"},
		{"watcher.command: ['../a {config}', '../b {config}']", nil, "../a {config} ../b {config}"},
		{"storage.faults: {none: [], some: ['503:1%']}", nil, "none some"},
		{"storage.faults: {none: [], some: ['503:1%']}", []string{"matrix.storage.faults=some"}, "some"},
		{"extra: {none: {pods: 0}, some: {namespaces: 1, pods: 2}}", nil, "none some"},
		{"watcher.podQueueNum: [1]", []string{"matrix.watcher.podQueueNum=1..64 *4"}, "1 4 16 64"},
		{"watcher.podQueueNum: [1]", []string{"matrix.watcher.podQueueNum=[2, 4..16*2]"}, "2 4 8 16"},
		{"watcher.podQueueNum: 1..8 *2", []string{"watcher.podQueueNum=5"}, "5"},
		{"watcher.podQueueNum: 1..8 *2", []string{"matrix.watcher.podQueueNum=2"}, "2"},

		{"watcher.podQueueNum: 1..64", nil, "s.yaml:5: matrix.watcher.podQueueNum: the range 1..64 does not say how it steps; write 1..64 *2 or 1..64 +10"},
		{"watcher.podQueueNum: [1, 8..2 *2]", nil, "the range 8..2 *2 ends before it begins; write 2..8 *2"},
		{"watcher.podQueueNum: [1, 1..4 *2]", nil, `the point "1" is there twice; keep one`},
		{"watcher.storageTimeout: [1s, 1000ms]", nil, "the points 1s and 1000ms are the same; keep one"},
		{"watcher.podQueueNum: 1..1000 +1", nil, "the range 1..1000 +1 has 1000 points, at most 400 are run"},
		{"watcher.podQueueNum: 0..4 +1", nil, "watcher.podQueueNum: 0 is out of range; use 1 to 4096"},
		{"watcher.strategy: [single..keyed *2]", nil, `watcher.strategy: "single..keyed *2" is not known`},
		{"watcher.strategy: single..keyed *2", nil, "matrix.watcher.strategy: not a list; write the values of watcher.strategy in brackets"},
		{"storage.latency: [5ms..20ms]", nil, "the range 5ms..20ms does not say how it steps"},
		{"storage.faults: ['503:1%']", nil, "storage.faults is a list, so its points need names; write storage.faults: {a: [], b: […]}"},
		{"storage.faults: {a: '503:1%'}", nil, "matrix.storage.faults.a: not a list; write a: [a, b]"},
		{"cluster: {a: {fsync: true}}", nil, "matrix.cluster.a: cluster.fsync cannot be swept: it holds for the whole run; set it outside of matrix, and run"},
		{"watcher.podQueueNum: [1]", []string{"matrix.watcher.podQueueNum=1..64"}, "--set matrix.watcher.podQueueNum=1..64: matrix.watcher.podQueueNum: the range 1..64 does not say how it steps"},
		{"watcher.podQueueNum: [1]", []string{"matrix.seed=1,2"}, "matrix.seed: seed cannot be swept: it holds for the whole run"},
	} {
		f, err := Format{}.Parse("s.yaml", []byte(minimal+"matrix: {"+tc.matrix+"}\n"), tc.sets...)
		var got []string
		if err == nil {
			for _, c := range f.Cells() {
				got = append(got, c.Params[0].Value)
			}
		} else {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); err == nil && text != tc.want || !strings.Contains(text, tc.want) {
			t.Errorf("%s %v:\n got %s\nwant %s", tc.matrix, tc.sets, text, tc.want)
		}
	}
}

// What a run records of a range are its points, as numbers where they are.
func TestRecordOfARange(t *testing.T) {
	f, err := Format{}.Parse("s.yaml", []byte(minimal+"matrix: {watcher.podQueueNum: 1..4 *2, storage.latency: 5ms..10ms *2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	record, err := f.Record()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"watcher.podQueueNum": []any{1, 2, 4}, "storage.latency": []any{"5ms", "10ms"}}
	if d := cmp.Diff(want, record["matrix"]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
