package robustness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docsTable is the table of mutants for docs/faults.md.
func docsTable() string {
	var b strings.Builder
	b.WriteString("| mutant | what it does wrong | caught in |\n|---|---|---|\n")
	for _, m := range mutants {
		var rows []string
		for _, r := range m.Caught {
			rows = append(rows, fmt.Sprintf("%s %s", filepath.Base(r.Scenario), strings.Join(strings.Split(r.Columns, ""), "/")))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Name, m.Bug, strings.Join(rows, ", "))
	}
	return b.String()
}

// TestDocs: the documentation lists the mutants as they are.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := docsTable(); !strings.Contains(string(data), want) {
		t.Errorf("docs/faults.md lacks the table of mutants as it is now:\n%s", want)
	}
}
