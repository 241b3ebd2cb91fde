package scenarios

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentedMetrics: docs/your-watcher.md names every metric that is read of a watcher, and no other.
func TestDocumentedMetrics(t *testing.T) {
	text := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	names := map[string]string{}
	for _, c := range regexp.MustCompile(`(?m)^\s(\w+)\s+= "((?:bkbcs|bcs|k8swatch)_\w+)"`).FindAllStringSubmatch(text("../internal/metric/metric.go"), -1) {
		names[c[1]] = c[2]
	}
	read := map[string]bool{}
	for _, dir := range []string{"party", "runner", "faults", "history", "measure", "check", "matrix"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source := text(file)
			for _, use := range regexp.MustCompile(`\bmetric\.(\w+)`).FindAllStringSubmatch(source, -1) {
				if name := names[use[1]]; name != "" {
					read[name] = true
				}
			}
			for _, use := range regexp.MustCompile(`"((?:go|process)_\w+)"`).FindAllStringSubmatch(source, -1) {
				read[use[1]] = true
			}
		}
	}
	_, table, _ := strings.Cut(text("../docs/your-watcher.md"), "<!-- metrics -->")
	table, _, _ = strings.Cut(table, "<!-- /metrics -->")
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(row[1], -1) {
			explained[name[1]] = true
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(explained))); d != "" {
		t.Errorf("docs/your-watcher.md (-read +explained):\n%s", d)
	}
}
