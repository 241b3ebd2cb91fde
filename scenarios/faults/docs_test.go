package faults

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/scenarios"
)

var update = flag.Bool("update", false, "rewrite the generated documentation")

// generated compares a part of a file with what it should be, or rewrites it.
func generated(t *testing.T, path string, want func(have string) string) {
	t.Helper()
	have, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if text := want(string(have)); text == string(have) {
		return
	} else if !*update {
		t.Errorf("%s is not as it is generated; run go test ./scenarios/faults -update and read the difference", path)
	} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRecoveryBounds: docs/faults.md has the bound of T of every scenario.
func TestRecoveryBounds(t *testing.T) {
	rows := map[string][]string{}
	var order []string
	for _, name := range slices.Concat(scenarios.FaultNames(), scenarios.RegressionNames()) {
		path, data, err := scenarios.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := Format.Parse(path, data)
		if err != nil {
			t.Fatal(err)
		}
		f := file.Base().Fault
		if f == nil || f.Recovery == 0 && f.Freshness == 0 {
			continue
		}
		text := fmt.Sprintf("%s %s", name[strings.Index(name, "/")+1:], f.Recovery)
		if f.Freshness > 0 {
			text += fmt.Sprintf(" (freshness p99 %s)", f.Freshness)
		}
		if !slices.Contains(f.Assert, "T") {
			text += " (measured)"
		}
		if rows[f.Row] == nil {
			order = append(order, f.Row)
		}
		rows[f.Row] = append(rows[f.Row], text)
	}
	var b strings.Builder
	b.WriteString("\n\n| row | T at most |\n|---|---|\n")
	for _, row := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", row, strings.Join(rows[row], ", "))
	}
	generated(t, "../../docs/faults.md", func(have string) string {
		const begin, end = "<!-- T:begin -->", "<!-- T:end -->"
		head, rest, ok := strings.Cut(have, begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("docs/faults.md lacks %s and %s", begin, end)
		}
		return head + begin + b.String() + "\n" + end + tail
	})
}

// TestDocumentedExample: docs/faults.md shows the file as it is, and its event is there.
func TestDocumentedExample(t *testing.T) {
	docs, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)<!-- example:(\\S+) -->\n```go\n(.*?)```").FindSubmatch(docs)
	if shown == nil {
		t.Fatal("docs/faults.md shows no example")
	}
	file, err := os.ReadFile(string(shown[1]))
	if err != nil {
		t.Fatal(err)
	}
	if string(shown[2]) != string(file) {
		t.Errorf("docs/faults.md does not show %s as it is", shown[1])
	}
	if New().find("sigstop") == nil {
		t.Error("the example is not registered")
	}
}
