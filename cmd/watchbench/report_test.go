package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
)

// TestReportFolder: a folder of runs is listed, and has no other format.
func TestReportFolder(t *testing.T) {
	dir := t.TempDir()
	matrix := filepath.Join(dir, "matrix-20260301-120000")
	for _, folder := range []string{matrix, filepath.Join(dir, "cut-20260301-130000")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := &result.Matrix{Schema: result.MatrixSchema, Profile: "default", Entries: []result.MatrixEntry{{Row: "F1", Title: "slow", Scenario: "f01-slow"}}}
	if err := render.WriteMatrix(matrix, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut-20260301-130000", result.FileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	const only = "is a folder of runs, which are only listed; leave --format out, or name one of its runs"
	for format, problem := range map[string]string{"table": "", "csv": only, "table,html": only, "json": only, "pdf": "unknown format"} {
		out, _, code, err := invoke(t, "report", dir, "--format", format)
		if (code == exitOK) != (problem == "") || problem != "" && (code != exitInput || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %d, %v", format, code, err)
		}
		if got := strings.Contains(out, "matrix-20260301-120000") && strings.Contains(out, "not readable"); got != (code == exitOK) {
			t.Errorf("%s prints\n%s", format, out)
		}
	}
	tuned := filepath.Join(dir, "tune-20260301-140000")
	if err := os.MkdirAll(filepath.Join(tuned, "matrix-20260301-120000"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tuning.json": "{}", "matrix-20260301-120000/matrix.json": "{}"} {
		if err := os.WriteFile(filepath.Join(tuned, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, code, err := invoke(t, "report", tuned); code != exitInput || !strings.Contains(err.Error(), "is the folder of watchbench tune, whose report is written already; open its index.html") {
		t.Errorf("%d, %v", code, err)
	}
}
