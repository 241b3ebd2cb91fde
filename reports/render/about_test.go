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
	for _, f := range arrange(&result.Results{Run: result.Run{Command: want}}).about().Table.Rows {
		if f[0].Text != "Command" {
			continue
		}
		out, err := exec.Command("sh", "-c", "set -- "+f[1].Text+`; printf '%s\n' "$@"`).CombinedOutput()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v", f[1].Text, got, err)
		}
		return
	}
	t.Error("no command")
}

// TestSummaryCountsPoints: what the table has as rows are points, be there one or many
// cells of each.
func TestSummaryCountsPoints(t *testing.T) {
	res := measured(map[string][]float64{"keyed": {1, 2, 3}})
	if s := arrange(res).summary().Text; s != "Of 1 point: 1 passed every check." {
		t.Error(s)
	}
}

// TestEnvironmentForDoubters: what the record has of where and how it was measured is shown,
// and what it has not is named.
func TestEnvironmentForDoubters(t *testing.T) {
	res := fixture(t)
	res.Environment.Programs = map[string]string{"k8s-watch": "sha256:0123456789abcdef"}
	res.Cells[0].Watcher.Name, res.Cells[0].Watcher.Version = "mine", "v2"
	res.Cells[1].Storage.SeenMeanMs = new(91.25)
	res.Run.Resumed = []result.Resumption{{Environment: result.Environment{CPUModel: "Another", Kernel: "7.0"}, Cells: []result.Rerun{{ID: "light-keyed-r1", Why: "late"}}}}
	var b strings.Builder
	tab := arrange(res)
	for _, r := range tab.about().Table.Rows {
		b.WriteString(r[0].Text + ": " + r[1].Text + "\n")
	}
	for _, want := range []string{
		"Storage latency: lognormal(mean=87ms,p99=110ms)\n",
		"Watcher: mine v2\n", "Programs: k8s-watch sha256:0123456789ab\n",
		"for 1 cell: light-keyed-r1 (late)\n", "Resumed elsewhere: ", "Another, kernel 7.0",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if rows := (&table{res: &result.Results{}}).about().Table.Rows; len(rows) > 2 {
		t.Errorf("of nothing is known %v", rows)
	}
}
