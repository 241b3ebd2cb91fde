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
			w.Append(Record{ID: int64(1000*k + i), Shard: k + 1, Kind: "Pod", Name: "p", Type: TypeCreate, Finished: at})
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
	cut, err := Merge(into, paths)
	if err != nil || len(cut) != 0 {
		t.Fatalf("%v, cut %v", err, cut)
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
	cut, err := Merge(into, paths)
	if err != nil || !slices.Equal(cut, []int{1}) {
		t.Fatalf("%v, cut %v", err, cut)
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

func TestPartPath(t *testing.T) {
	for path, want := range map[string]string{"a/ops.ndjson.zst": "a/ops-2.ndjson.zst", "log": "log-2", "x.d/log": "x.d/log-2"} {
		if got := PartPath(path, 2); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
