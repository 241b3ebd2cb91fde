package prometheus

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated files")

// The files in this directory are those of the code.
func TestFiles(t *testing.T) {
	files, err := Files(Default())
	if err != nil {
		t.Fatal(err)
	}
	note := "# Address of metric_port, and which cluster it is; read again when it changes.\n"
	for name, target := range map[string]Target{WatcherTargetsFile: {"localhost:10252", "BCS-K8S-00000"}, StorageTargetsFile: {"localhost:50025", "BCS-K8S-00000"}} {
		if files[name], err = Targets(note, target); err != nil {
			t.Fatal(err)
		}
	}
	if files["../../deploy/components/monitoring/prometheusrule.yaml"], err = Operator(Default()); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if *update {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, want, 0o644); err != nil { //nolint:gosec // read by Prometheus
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(name); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the code says (%v): run this test with -update", name, err)
		}
	}
}

// Every alert has a severity, a summary, and a runbook whose section exists.
func TestRunbooks(t *testing.T) {
	for _, a := range Alerts() {
		if a.Severity == "" || a.Summary == "" || a.Means == "" || a.Do == "" {
			t.Errorf("%s: want severity, summary, what it means and what to do", a.Name)
		}
		page, section, _ := strings.Cut(a.Link, "#")
		b, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		if !sections(b)[section] {
			t.Errorf("%s: %s has no section %s", a.Name, page, section)
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9_ -]`)

// sections are the anchors of a Markdown page.
func sections(page []byte) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			all[strings.ReplaceAll(notInAnchor.ReplaceAllString(title, ""), " ", "-")] = true
		}
	}
	return all
}
