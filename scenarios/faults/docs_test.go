package faults

import (
	"os"
	"regexp"
	"testing"
)

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
	if New().find("reload") == nil {
		t.Error("the example is not registered")
	}
}
