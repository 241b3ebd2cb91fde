package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
)

// TestExampleWatcher: the watcher that docs/your-watcher.md begins with passes smoke, and each of three mistakes is
// caught with a counterexample that names the object and what is wrong with it.
func TestExampleWatcher(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the example watcher is NOT tested")
	}
	source, err := os.ReadFile("../examples/watcher.py")
	if err != nil {
		t.Fatal(err)
	}
	_, smoke, err := scenarios.Read("smoke")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, wrong, fails, names string }{
		{name: "as it is"},
		{"reorders", `senders[hash(path) % len(senders)]`, `senders[hash(str(item)) % len(senders)]`, "G2", "Pod/"},
		{"loses", `if namespace in`, `if kind == "Pod" and name[-1] in "02468" or namespace in`, "G1", ", storage nothing"},
		{"keeps managedFields", `meta.pop("managedFields", None)`, `kind == "Pod" or meta.pop("managedFields", None)`, "G1", "metadata.managedFields: stored [{"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(string(source), tc.old, tc.wrong, 1)
			if tc.old != "" && text == string(source) {
				t.Fatalf("the example has no %q to break", tc.old)
			}
			path := filepath.Join(t.TempDir(), "watcher.py")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			opts, said := stage(t, string(smoke), "watcher.command=python3 "+path+" {config}",
				"repeat=1", "load.rate=100", "load.duration=3s", "load.warmup.operations=0", "limits.minPower=0")
			out := finish(t, opts, said)
			c := out.Results.Cells[0]
			if len(out.Results.Cells) != 1 || c.Watcher.Name != "python3 watcher.py" {
				t.Errorf("%d cells of %q", len(out.Results.Cells), c.Watcher.Name)
			}
			if !onlyLate(c) || c.Load.Done != 300 || c.Watcher.ExitCode == nil || *c.Watcher.ExitCode != 0 {
				t.Errorf("invalid %v, %d writes, exit code %v", c.InvalidReasons, c.Load.Done, c.Watcher.ExitCode)
			}
			for _, g := range []string{"G1", "G2", "G3", "G4"} {
				v := c.Checks[g]
				if tc.fails == "" && v.Verdict != result.Pass || tc.fails == g && v.Verdict != result.Fail {
					t.Errorf("%s: %+v", g, v)
				}
			}
			told := slices.ContainsFunc(counterexamples(c.Checks[tc.fails]), func(text string) bool { return strings.Contains(text, tc.names) })
			if tc.fails != "" && !told {
				t.Errorf("%s does not name %q: %q", tc.fails, tc.names, counterexamples(c.Checks[tc.fails]))
			}
		})
	}
}

func counterexamples(c result.Check) []string {
	return append([]string{c.Counterexample}, c.Further...)
}
