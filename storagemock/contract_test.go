package storagemock_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/storagemock"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// variable are the parts of answers that differ from run to run.
var variable = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`"_id":"[0-9a-f]{24}"`), `"_id":"ID"`},
	{regexp.MustCompile(`"(createTime|updateTime)":"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]{1,3})?Z"`), `"$1":"TIME"`},
}

// Every file testdata/*.requests is a conversation: lines of METHOD PATH [BODY],
// # starts a comment. Its golden file is the conversation with the answers.
func TestContract(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.requests")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".requests")
		t.Run(name, func(t *testing.T) {
			m := start(t, func(c *storagemock.Config) {
				if strings.HasPrefix(name, "conditional") {
					c.Mode = "conditional"
				}
			})
			got := converse(t, m, script)
			golden := strings.TrimSuffix(script, ".requests") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("answers differ from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func converse(t *testing.T, m *mock, script string) string {
	t.Helper()
	f, err := os.Open(script)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out strings.Builder
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, line)
			continue
		}
		method, rest, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(rest, " ")
		status, answer := m.api(method, path, body)
		for _, v := range variable {
			answer = v.re.ReplaceAllString(answer, v.to)
		}
		fmt.Fprintf(&out, "%s\n  %d %s\n", line, status, answer)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, "\n# ledger")
	for e := range m.Ledger().From(1) {
		e.Received, e.Applied, e.Responded = 0, min(e.Applied, 1), min(e.Responded, 1)
		if err := json.NewEncoder(&out).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}
