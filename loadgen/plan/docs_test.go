package plan

import (
	"os"
	"regexp"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// TestDocumentedPlan: the plan file that docs/load.md shows is one, and has the Jobs that its text says it has.
func TestDocumentedPlan(t *testing.T) {
	data, err := os.ReadFile("../../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile("(?s)<!-- file: plan.yaml -->\n```yaml\n(.*?)```").FindSubmatch(data)
	if file == nil {
		t.Fatal("no file")
	}
	cfg, err := Parse("plan.yaml", file[1])
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for op := range p.Timed() {
		if op.Type == oplog.TypeCreate {
			made[op.Target.Kind]++
		}
	}
	if made["Job"] == 0 || made["Pod"] <= made["Job"] {
		t.Errorf("created: %v", made)
	}
}
