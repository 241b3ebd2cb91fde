package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// A report of a simulated API server says what it does not show; others do not.
func TestSimulatedSaysWhatIsNotShown(t *testing.T) {
	for provider, want := range map[string]bool{"simulated": true, "replay": true, "embedded": false} {
		res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "a", Scenario: "a"}, Environment: result.Environment{Provider: provider},
			Cells: []result.Cell{{ID: "a", Valid: true}}}
		var terminal bytes.Buffer
		if err := Terminal(&terminal, res, TerminalOptions{}); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(terminal.String()), " ")
		if got := strings.Contains(flat, "Not shown: what etcd and kube-apiserver cost"); got != want {
			t.Errorf("%s: %v, want %v:\n%s", provider, got, want, flat)
		}
	}
}
