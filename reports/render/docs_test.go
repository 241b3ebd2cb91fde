package render

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestArtefactsAreDocumented: the page on CI names every file that a run writes, and its
// examples can be read by what they are for.
func TestArtefactsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, f := range Formats() {
		if !strings.Contains(page, "\n| `"+f.File+"` |") {
			t.Errorf("docs/gate.md has no row for %s", f.File)
		}
	}
	var example string
	if m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page); m != nil {
		example = m[1]
	}
	var workflow struct{ Jobs map[string]any }
	if err := yaml.Unmarshal([]byte(example), &workflow); err != nil || len(workflow.Jobs) != 1 {
		t.Errorf("the workflow is not read: %v, %d jobs", err, len(workflow.Jobs))
	}
}
