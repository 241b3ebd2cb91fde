package render

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestArtefactsAreDocumented: the page on CI names every file that a run writes, and its
// examples can be read by what they are for.
func TestArtefactsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, f := range Formats() {
		if !strings.Contains(page, "\n| `"+f.File+"` |") {
			t.Errorf("docs/ci.md has no row for %s", f.File)
		}
	}
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```(yaml|sh)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		blocks[m[1]] = m[2]
	}
	if out, err := exec.Command("sh", "-n", "-c", blocks["sh"]).CombinedOutput(); err != nil || blocks["sh"] == "" {
		t.Errorf("the shell does not read the example: %v %s", err, out)
	}
	var workflow struct{ Jobs map[string]any }
	if err := yaml.Unmarshal([]byte(blocks["yaml"]), &workflow); err != nil || len(workflow.Jobs) != 1 {
		t.Errorf("the workflow is not read: %v, %d jobs", err, len(workflow.Jobs))
	}
}
