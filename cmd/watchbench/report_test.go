package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
)

// TestReportFolder: a folder of runs is listed, and gets a page; what makes no sense for it is
// refused before anything is written.
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
	page := filepath.Join(dir, "index.html")
	for _, tc := range []struct {
		format      string
		code        int
		list, paged bool
		problem     string
	}{
		{"table", exitOK, true, false, ""},
		{"csv", exitInput, false, false, "a folder of runs, which has no format csv; use table or html, or name"},
		{"table,html,md", exitInput, false, false, "no format md"},
		{"json", exitInput, false, false, "no format json"},
		{"pdf", exitInput, false, false, "unknown report format"},
		{"html", exitOK, false, true, ""},
		{"", exitOK, true, true, ""},
	} {
		args := []string{"report", dir}
		if tc.format != "" {
			args = append(args, "--format", tc.format)
		}
		_ = os.Remove(page)
		out, errOut, code, err := invoke(t, args...)
		if code != tc.code || tc.problem != "" && !strings.Contains(err.Error(), tc.problem) {
			t.Errorf("%s: %d, %v", tc.format, code, err)
		}
		if got := strings.Contains(out, "matrix-20260301-120000") && strings.Contains(out, "not readable"); got != tc.list {
			t.Errorf("%s prints\n%s", tc.format, out)
		}
		if _, err := os.Stat(page); (err == nil) != tc.paged || strings.Contains(errOut, page) != tc.paged {
			t.Errorf("%s: the page: %v, %s", tc.format, err, errOut)
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
	if err := os.WriteFile(page, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, code, err := invoke(t, "report", dir); code != exitInput || !strings.Contains(err.Error(), "was not written by watchbench report; move it away, or use --format table") {
		t.Errorf("%d, %v", code, err)
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != "mine" {
		t.Errorf("%q, %v", have, err)
	}
}
