package oracle

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestPublishedIsAsAssessed assesses the committed records as watchbench check does and
// compares what comes out with the results.json beside them, which the oracle is held to.
// Without it a rule that breaks would go unnoticed here.
func TestPublishedIsAsAssessed(t *testing.T) {
	from := asked()
	if *folders == "" {
		// Of the row of the matrix, what was captured to be searched for secrets is left out.
		from = []string{"testdata/run", "testdata/open", "testdata/readers", "testdata/observed"}
	}
	for _, dir := range saved(t, from) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			now, err := assess.Run(t.Context(), unpacked(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			var committed any
			readJSON(t, filepath.Join(dir, "results.json"), &committed)
			have, want := leavesOf(t, now), leavesOf(t, committed)
			if len(want) < 500 {
				t.Errorf("only %d leaves are published", len(want))
			}
			paths := maps.Clone(have)
			maps.Copy(paths, want)
			for _, path := range slices.Sorted(maps.Keys(paths)) {
				h, assessed := have[path]
				w, published := want[path]
				if assessed != published || h != w {
					t.Errorf("%s: %v is published (%t), %v is assessed (%t)", path, w, published, h, assessed)
				}
			}
		})
	}
}

// unpacked copies a record with its files as a run writes them: of those that are committed
// compressed, only the logs are.
func unpacked(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if strings.HasSuffix(rel, ".ndjson.zst") && !strings.Contains(rel, "samples") {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), data, 0o644)
		}
		if d.Name() == history.FileCell { // no injector did anything in the committed cells: their deeds are left out
			if err := os.WriteFile(filepath.Join(to, filepath.Dir(rel), history.FileDeeds), nil, 0o644); err != nil {
				return err
			}
		}
		name := strings.TrimSuffix(rel, ".zst")
		return os.WriteFile(filepath.Join(to, name), open(t, filepath.Join(dir, name)), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
