package render

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestCommandCanBePasted: a shell makes the same arguments of it.
func TestCommandCanBePasted(t *testing.T) {
	want := []string{"bin/watchbench", "run", "./a b.yaml", "--watcher-command", "python3 w.py {config} 'x' \"$HOME\"", "--set", "matrix.load=[light,heavy]", "--set", "storage.latency=lognormal(mean=1ms,p99=2ms)", "--name="}
	for _, f := range arrange(&result.Results{Run: result.Run{Command: want}}).Provenance() {
		if f.Name != "Command" {
			continue
		}
		out, err := exec.Command("sh", "-c", "set -- "+f.Value+`; printf '%s\n' "$@"`).CombinedOutput()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v", f.Value, got, err)
		}
		return
	}
	t.Error("no command")
}

// TestSummaryCountsPoints: what the table has as rows are points, be there one or many
// cells of each.
func TestSummaryCountsPoints(t *testing.T) {
	res := measured(map[string][]float64{"keyed": {1, 2, 3}})
	if s := arrange(res).Summary(); s != "Of 1 point: 1 passed every check." {
		t.Error(s)
	}
}
