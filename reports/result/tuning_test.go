package result_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestLoadTuningOfAnotherVersion: the error names the version, not a field that had another shape in it.
func TestLoadTuningOfAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), result.TuningFile)
	if err := os.WriteFile(path, []byte(`{"schema": "watchbench/tuning/v1", "lengths": {"strategy": "keyed"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := result.LoadTuning(path)
	if want := `schema is "watchbench/tuning/v1", not ` + result.TuningSchema; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
