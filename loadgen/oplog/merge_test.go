package oplog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// parts writes n logs, record i of part k answered at times[k][i].
func parts(t *testing.T, times ...[]int64) (dir string, paths []string) {
	dir = t.TempDir()
	for k, finished := range times {
		path := PartPath(filepath.Join(dir, "ops.ndjson.zst"), k+1)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range finished {
			w.Append(Record{ID: int64(1000*k + i), Shard: k + 1, Kind: "Pod", Name: "p", Type: TypeCreate, Phase: PhaseLoad, Status: 201, Finished: at})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return dir, paths
}

func all(t *testing.T, path string) (out []string) {
	t.Helper()
	for r, err := range ReadFile(path) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d by %d at %d", r.ID, r.Shard, r.Finished))
	}
	return out
}

func exist(paths ...string) (n int) {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			n++
		}
	}
	return n
}

func TestMerge(t *testing.T) {
	dir, paths := parts(t, []int64{10, 30, 50}, nil, []int64{20, 30, 60})
	into := filepath.Join(dir, "ops.ndjson.zst")
	merged, err := Merge(into, paths)
	if err != nil || !slices.Equal(merged, []Part{{Shard: 1, Written: 3}, {}, {Shard: 3, Written: 3}}) {
		t.Fatalf("%v, %+v", err, merged)
	}
	want := []string{"0 by 1 at 10", "2000 by 3 at 20", "1 by 1 at 30", "2001 by 3 at 30", "2 by 1 at 50", "2002 by 3 at 60"}
	if got := all(t, into); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if n := exist(paths...); n != 0 {
		t.Errorf("%d parts are left", n)
	}
}

// TestMergeOfADeadShard: what it wrote is taken, and its part is kept and named.
func TestMergeOfADeadShard(t *testing.T) {
	dir, paths := parts(t, []int64{10}, []int64{20})
	w, err := Create(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	w.Append(Record{ID: 7, Shard: 2, Kind: "Pod", Name: "p", Type: TypeCreate, Finished: 5})
	if err := w.Flush(); err != nil { // and no checkpoint
		t.Fatal(err)
	}
	into := filepath.Join(dir, "ops.ndjson.zst")
	merged, err := Merge(into, paths)
	if err != nil || merged[0].Cut || !merged[1].Cut {
		t.Fatalf("%v, %+v", err, merged)
	}
	if got := all(t, into); !slices.Equal(got, []string{"7 by 2 at 5", "0 by 1 at 10"}) {
		t.Errorf("got %q", got)
	}
	if exist(paths[0]) != 0 || exist(paths[1]) != 1 {
		t.Error("the whole part is left, or the cut one is gone")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestMergeFails: a part that is missing or damaged is an error; the others are untouched.
func TestMergeFails(t *testing.T) {
	dir, paths := parts(t, []int64{10}, []int64{20})
	into := filepath.Join(dir, "ops.ndjson.zst")
	if _, err := Merge(into, append(slices.Clone(paths), filepath.Join(dir, "none"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(paths[1], []byte("no op log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(into, paths); err == nil {
		t.Error("a damaged part is merged")
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 || exist(paths...) != 2 {
		t.Errorf("there are %v", left)
	}
}

// TestMergeRefuses: what is not one log of each of several shards loses nothing.
func TestMergeRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   func(dir string, paths []string) (into string, parts []string)
	}{
		{"a part given twice", func(dir string, p []string) (string, []string) {
			return filepath.Join(dir, "ops"), []string{p[0], p[1], p[0]}
		}},
		{"one under two names", func(dir string, p []string) (string, []string) {
			if err := os.Link(p[0], filepath.Join(dir, "other")); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "ops"), []string{p[0], filepath.Join(dir, "other")}
		}},
		{"a part to be overwritten", func(_ string, p []string) (string, []string) { return p[0], p }},
		{"two shards of one number", func(dir string, p []string) (string, []string) {
			_, others := parts(t, []int64{15})
			return filepath.Join(dir, "ops"), []string{p[0], p[1], others[0]}
		}},
		{"a log of one generator", func(dir string, p []string) (string, []string) {
			path := filepath.Join(dir, "one")
			w, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w.Append(Record{ID: 5, Kind: "Pod", Name: "p", Type: TypeCreate, Finished: 5})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "ops"), append(p, path)
		}},
		{"one that is merged already", func(dir string, p []string) (string, []string) {
			path := filepath.Join(dir, "merged")
			_, others := parts(t, []int64{1}, []int64{2}, []int64{3})
			if _, err := Merge(path, others); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "ops"), []string{path}
		}},
	} {
		dir, paths := parts(t, []int64{10}, []int64{20})
		into, given := tc.of(dir, paths)
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Merge(into, given); !errors.Is(err, ErrParts) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) || exist(given...) != len(given) {
			t.Errorf("%s: there are %v, before %v, %v", tc.name, after, before, err)
		}
		for _, path := range given {
			if len(all(t, path)) == 0 {
				t.Errorf("%s: %s is empty", tc.name, path)
			}
		}
	}
}

func TestPartPath(t *testing.T) {
	for path, want := range map[string]string{"a/ops.ndjson.zst": "a/ops-2.ndjson.zst", "log": "log-2", "x.d/log": "x.d/log-2"} {
		if got := PartPath(path, 2); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
