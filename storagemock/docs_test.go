package storagemock_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedRequests sends the requests of docs/your-watcher.md as they are written there and compares what storage
// answers.
func TestDocumentedRequests(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed: the requests of docs/your-watcher.md are NOT tested")
	}
	docs, err := os.ReadFile("../docs/your-watcher.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)<!-- run -->\n```\n(.*?)\n(\\{[^\n]*)\n```").FindAllSubmatch(docs, -1)
	if len(examples) < 6 {
		t.Fatalf("docs/your-watcher.md has %d requests", len(examples))
	}
	m := start(t, nil)
	id := regexp.MustCompile(`"_id":"[^"]*"`)
	for _, e := range examples {
		command, want := string(e[1]), string(e[2])
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "STORAGE="+m.base, "no_proxy=*")
		out, err := cmd.Output()
		if got := id.ReplaceAllString(strings.TrimSpace(string(out)), `"_id":"…"`); err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", command, got, err, want)
		}
	}
}
