package oplog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// writeLog writes a log of its own of records.
func writeLog(t *testing.T, name string, all []Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		w.Append(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMerge(t *testing.T) {
	all := records(300)
	for i := range all {
		all[i].ID, all[i].Finished = int64(i), int64(1000+i)
	}
	parts := make([][]Record, 3) // the last has none
	for i, r := range all {
		parts[i*7%5%2] = append(parts[i*7%5%2], r)
	}
	// A log is in the order in which answers were taken down, which may differ by a little.
	parts[0][3], parts[0][4] = parts[0][4], parts[0][3]
	var paths []string
	for i, p := range parts {
		paths = append(paths, writeLog(t, string(rune('a'+i)), p))
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if err := Merge(merged, paths...); err != nil {
		t.Fatal(err)
	}
	got, err := collect(ReadFile(merged))
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d records, %v; want %d", len(got), err, len(all))
	}
	for _, part := range parts {
		var mine []Record
		for _, r := range got {
			if slices.Contains(part, r) {
				mine = append(mine, r)
			}
		}
		if !slices.Equal(mine, part) {
			t.Errorf("a log of %d records came out in another order", len(part))
		}
	}
	for i := 10; i < len(got); i++ {
		if got[i].Finished < got[i-1].Finished {
			t.Errorf("record %d was answered at %d, after one of %d", i, got[i].Finished, got[i-1].Finished)
		}
	}
}

func TestMergeRefusesACutLog(t *testing.T) {
	whole, cut := writeLog(t, "a", records(200)), writeLog(t, "b", records(200))
	data, err := os.ReadFile(cut)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, data[:len(data)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if err := Merge(merged, whole, cut); !errors.Is(err, ErrTruncated) {
		t.Errorf("got %v, want ErrTruncated", err)
	}
	if _, err := os.Stat(merged); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log was left: %v", err)
	}
}
