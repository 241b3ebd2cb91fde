package spec

import (
	"strings"
	"testing"
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
		_, err := f.checkPath(f.tree.Root, path, "matrix."+path)
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

// TestAxes: what the points of an axis are, in the file and in --set.
func TestAxes(t *testing.T) {
	for _, tc := range []struct {
		matrix string
		sets   []string
		want   string // the points, or part of the error
	}{
		{"storage.latency: [5ms, 1ms..20ms, 'lognormal(mean=87ms,p99=110ms)']", nil, "5ms 1ms..20ms lognormal(mean=87ms,p99=110ms)"},
		{"watcher.command: ['../a {config}', '../b {config}']", nil, "../a {config} ../b {config}"},
		{"storage.faults: {none: [], some: ['503:1%']}", nil, "none some"},
		{"storage.faults: {none: [], some: ['503:1%']}", []string{"matrix.storage.faults=some"}, "some"},
		{"extra: {none: {pods: 0}, some: {namespaces: 1, pods: 2}}", nil, "none some"},
		{"watcher.podQueueNum: [1]", []string{"matrix.watcher.podQueueNum=[2, 4]"}, "2 4"},
		{"watcher.podQueueNum: [1, 2]", []string{"watcher.podQueueNum=5"}, "5"},
		{"watcher.podQueueNum: [1, 2]", []string{"matrix.watcher.podQueueNum=2"}, "2"},

		{"watcher.podQueueNum: 1..64 *2", nil, "s.yaml:5: matrix.watcher.podQueueNum: the range 1..64 *2 is not read; write its values, for example [1, 2, 4, 8]"},
		{"watcher.podQueueNum: [1, 2, 1]", nil, `the point "1" is there twice; keep one`},
		{"watcher.storageTimeout: [1s, 1000ms]", nil, "the points 1s and 1000ms are the same; keep one"},
		{"watcher.strategy: single", nil, "matrix.watcher.strategy: not a list; write the values of watcher.strategy in brackets"},
		{"storage.faults: ['503:1%']", nil, "storage.faults is a list, so its points need names; write storage.faults: {a: [], b: […]}"},
		{"storage.faults: {a: '503:1%'}", nil, "matrix.storage.faults.a: not a list; write a: [a, b]"},
		{"cluster: {a: {fsync: true}}", nil, "matrix.cluster.a: cluster.fsync cannot be swept: it holds for the whole run; set it outside of matrix, and run"},
		{"cluster.gates: {a: [X], b: []}", nil, "matrix.cluster.gates: cluster.gates cannot be swept: it holds for the whole run"},
		{"watcher.podQueueNum: [1]", []string{"matrix.watcher.podQueueNum=1ms..64ms +1ms"}, "--set matrix.watcher.podQueueNum=1ms..64ms +1ms: matrix.watcher.podQueueNum: the range 1ms..64ms +1ms is not read"},
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
