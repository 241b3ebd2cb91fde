package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

// invoke runs a command line in this process.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int, err error) {
	t.Helper()
	cmd := command()
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), exitCode(t.Context(), err), err
}

const tiny = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: tiny}
load: {model: closed, threads: 2, operations: 10}
`

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig points at a server; its only context is "test".
func kubeconfig(t *testing.T, server string) string {
	return file(t, "kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+server+`"}}]
users: [{name: u, user: {}}]
contexts: [{name: test, context: {cluster: c, user: u}}]
`)
}

// TestBadInput holds the outside of the program to one clear line with the place
// and the remedy, and to its exit codes.
func TestBadInput(t *testing.T) {
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>login</html>")) }))
	defer html.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	good := file(t, "tiny.yaml", tiny)
	t.Setenv("WATCHBENCH_CACHE", t.TempDir()) // where no cluster is up
	dir := t.TempDir()
	for _, tc := range []struct {
		name string
		args []string
		want []string // parts of the line
		code int
	}{
		{"unknown command", []string{"rnu"}, []string{`watchbench: unknown command "rnu"; did you mean run?`}, exitInput},
		{"no command at all", []string{"xyzzy"}, []string{`unknown command "xyzzy"; see watchbench --help`}, exitInput},
		{"unknown subcommand", []string{"cluster", "statsu"}, []string{`watchbench cluster: unknown command "statsu"; did you mean status?`}, exitInput},
		{"misspelt scenario", []string{"run", "smok"}, []string{"did you mean smoke?"}, exitInput},
		{"scenario without its folder", []string{"run", "f02-refus"}, []string{"did you mean faults/f02-refuse?"}, exitInput},
		{"misspelt path", []string{"run", "fault/f02-refuse"}, []string{"did you mean faults/f02-refuse?"}, exitInput},
		{"misspelt row", []string{"matrix", "f2-refuse"}, []string{"did you mean faults/f02-refuse?"}, exitInput},
		{"misspelt flag", []string{"run", good, "--quit"}, []string{"unknown flag: --quit (did you mean --quiet?); see watchbench run --help"}, exitInput},
		{"word for a number", []string{"run", good, "--repeat", "abc"}, []string{`--repeat: "abc" is not a whole number; see watchbench run --help`}, exitInput},
		{"too large a number", []string{"run", good, "--repeat", "99999999999999999999"}, []string{"--repeat: 99999999999999999999 is out of range"}, exitInput},
		{"unknown flag", []string{"run", "--fast"}, []string{"unknown flag: --fast", "see watchbench run --help"}, exitInput},
		{"no scenario", []string{"run"}, []string{"at least one scenario"}, exitInput},
		{"unknown scenario", []string{"run", "nosuch"}, []string{"scenario nosuch", "use one of aa, "}, exitInput},
		{"missing file", []string{"run", "./nosuch.yaml"}, []string{"./nosuch.yaml: no such file"}, exitInput},
		{"unknown field", []string{"run", file(t, "a.yaml", tiny+"watchers: {}\n")}, []string{"a.yaml:5: watchers: unknown field; did you mean watcher?"}, exitInput},
		{"wrong unit", []string{"run", file(t, "b.yaml", tiny+"drainTimeout: 45\n")}, []string{`b.yaml:5: drainTimeout: "45" is not a duration; write a number with`}, exitInput},
		{"wrong unit of a latency", []string{"run", file(t, "c.yaml", tiny+"storage: {latency: lognormal(mean=87)}\n")},
			[]string{"c.yaml:5: storage.latency: ", "write for example lognormal(mean=87ms,p99=110ms)"}, exitInput},
		{"impossible matrix", []string{"run", file(t, "d.yaml", tiny+"matrix: {watcher.strategy: []}\n")}, []string{"d.yaml:5: matrix.watcher.strategy: no points"}, exitInput},
		{"bad override", []string{"run", good, "--set", "load.threads=x"}, []string{`--set load.threads=x: load.threads: "x" is not a whole number`}, exitInput},
		{"bad repeat", []string{"run", good, "--repeat", "0"}, []string{"--repeat 0: 0 is out of range; use 1 to 100"}, exitInput},
		{"unknown provider", []string{"run", good, "--cluster", "cloud"}, []string{"--cluster cloud is not known; use one of embedded, kind, kubeconfig, replay, running"}, exitInput},
		{"fsync of kind", []string{"run", good, "--cluster", "kind", "--fsync"}, []string{"--fsync means nothing for --cluster kind; use --cluster embedded, or leave it out"}, exitInput},
		{"a name that is too long", []string{"run", good, "--name", strings.Repeat("x", 61)}, []string{`x" is not a name; use at most 60 letters, digits and signs`}, exitInput},
		{"fsync of a cluster that stays up", []string{"cluster", "up", "--provider", "kind", "--fsync"}, []string{"fsync can be chosen for the embedded control plane only"}, exitInput},
		{"kubeconfig of embedded", []string{"run", good, "--cluster", "embedded", "--kubeconfig", dir}, []string{"--kubeconfig means nothing for --cluster embedded; use --cluster kubeconfig, or leave it out"}, exitInput},
		{"pinning", []string{"run", good, "--pin"}, []string{"unknown flag: --pin; use taskset"}, exitInput},
		{"retired", []string{"run", good, "--kind-keep"}, []string{"unknown flag: --kind-keep; start the cluster with watchbench cluster up --provider kind"}, exitInput},
		{"nothing is running", []string{"run", good, "--cluster", "running"}, []string{"--cluster running: no cluster is up; start one with watchbench cluster up"}, exitInput},
		{"fsync of what is running", []string{"matrix", "F0", "--cluster", "running", "--fsync"}, []string{"--fsync means nothing for --cluster running"}, exitInput},
		{"two providers", []string{"run", good, "--kind-name", "a", "--context", "b"}, []string{"--context is for the cluster provider kubeconfig, --kind-name for kind; leave one of them out"}, exitInput},
		{"fsync beside a context", []string{"run", good, "--fsync", "--context", "b"}, []string{"--context is for the cluster provider kubeconfig, --fsync for embedded"}, exitInput},
		{"kind-name of another scenario", []string{"run", file(t, "f.yaml", tiny+"cluster: {provider: embedded}\n"), "--kind-name", "a"},
			[]string{"--kind-name means nothing for the cluster provider embedded, which ", "f.yaml names; add --cluster kind, or leave the flag out"}, exitInput},
		{"kind-name of another override", []string{"run", good, "--kind-name", "a", "--set", "cluster.provider=kubeconfig"}, []string{"--kind-name means nothing for the cluster provider kubeconfig"}, exitInput},
		{"kind-name of a cluster that is there", []string{"matrix", "F0", "--cluster", "kubeconfig", "--kind-name", "a"}, []string{"--kind-name means nothing for --cluster kubeconfig"}, exitInput},
		{"implied kubeconfig", []string{"run", good, "--kubeconfig", kubeconfig(t, gone.URL), "--context", "test"}, []string{strings.TrimPrefix(gone.URL, "http://")}, exitInput},
		{"implied kubeconfig of a matrix", []string{"matrix", "F0", "--kubeconfig", kubeconfig(t, gone.URL), "--context", "test", "--out", dir + "/matrix"}, []string{strings.TrimPrefix(gone.URL, "http://")}, exitInput},
		{"implied kind", []string{"run", good, "--kind-name", "Not Good"}, []string{`kind cluster name "Not Good"`}, exitInput},
		{"empty flag", []string{"run", good, "--context", ""}, []string{"--context is empty; give it a value, or leave it out"}, exitInput},
		{"empty watcher", []string{"run", good, "--watcher-command", ""}, []string{"--watcher-command is empty"}, exitInput},
		{"watcher without its config", []string{"run", good, "--watcher-command", "sh"}, []string{"--watcher-command 'sh': the command never names its config; write {config}"}, exitInput},
		{"watcher that is left open", []string{"run", "original"}, []string{"add --watcher-command"}, exitInput},
		{"unknown watcher", []string{"run", good, "--watcher-command", "nosuchbinary {config}"}, []string{`"nosuchbinary": executable file not found in $PATH; begin it with a program in PATH`}, exitInput},
		{"watcher that is not there", []string{"matrix", "F0", "--watcher-command", "./nosuch {config}"}, []string{"./nosuch: no such file or directory"}, exitInput},
		{"unknown format", []string{"run", good, "--format", "xml"}, []string{"--format xml is not known; use table or json"}, exitInput},
		{"missing kubeconfig", []string{"run", good, "--cluster", "kubeconfig", "--kubeconfig", dir + "/none", "--context", "x"}, []string{dir + "/none"}, exitInput},
		{"context not named", []string{"run", good, "--cluster", "kubeconfig", "--kubeconfig", kubeconfig(t, gone.URL)}, []string{"context"}, exitInput},
		{"unknown context", []string{"run", good, "--cluster", "kubeconfig", "--kubeconfig", kubeconfig(t, gone.URL), "--context", "prod"}, []string{`"prod"`, "test"}, exitInput},
		{"unreachable apiserver", []string{"run", good, "--cluster", "kubeconfig", "--kubeconfig", kubeconfig(t, gone.URL), "--context", "test"}, []string{strings.TrimPrefix(gone.URL, "http://")}, exitInput},
		{"not an apiserver", []string{"run", good, "--cluster", "kubeconfig", "--kubeconfig", kubeconfig(t, html.URL), "--context", "test"}, []string{strings.TrimPrefix(html.URL, "http://")}, exitInput},
		{"out is a file", []string{"run", good, "--out", good}, []string{"make a folder for the run in " + good, "name a folder that can be written"}, exitInput},
		{"report of nothing", []string{"report", dir}, []string{"results.json", "name the folder of a run"}, exitInput},
		{"report in an unknown format", []string{"report", dir, "--format", "pdf"}, []string{`"pdf"`, "html"}, exitInput},
		{"check of nothing", []string{"check", dir}, []string{dir, "name the folder of a run or of a cell"}, exitInput},
		{"validate", []string{"scenarios", "validate", file(t, "e.yaml", "a: b\n")}, []string{"e.yaml:1: a: unknown field"}, exitInput},
		{"recording without a file", []string{"record", "--context", "x"}, []string{"no file to be written; name it with -o, for example -o trace.zst"}, exitInput},
		{"recording over a file", []string{"record", "-o", good, "--kubeconfig", dir + "/none"}, []string{"-o " + good + " exists already; name another file or remove it"}, exitInput},
		{"recording for no time", []string{"record", "-o", dir + "/t", "--for", "0s"}, []string{"--for 0s is no time; use for example --for 10m"}, exitInput},
		{"recording for a word", []string{"record", "-o", dir + "/t", "--for", "long"}, []string{"--for: ", "see watchbench record --help"}, exitInput},
		{"recording nothing", []string{"record", "-o", dir + "/t", "--resources", ""}, []string{"--resources is empty"}, exitInput},
		{"recording without a cluster", []string{"record", "-o", dir + "/t", "--kubeconfig", dir + "/none"}, []string{dir + "/none does not exist"}, exitInput},
		{"recording an unknown context", []string{"record", "-o", dir + "/t", "--kubeconfig", kubeconfig(t, gone.URL), "--context", "prod"}, []string{`"prod"`, "test"}, exitInput},
		{"recording what is gone", []string{"record", "-o", dir + "/t", "--kubeconfig", kubeconfig(t, gone.URL)}, []string{strings.TrimPrefix(gone.URL, "http://"), "cannot be reached"}, exitInput},
		{"recording no apiserver", []string{"record", "-o", dir + "/t", "--kubeconfig", kubeconfig(t, html.URL)}, []string{strings.TrimPrefix(html.URL, "http://")}, exitInput},
		{"too many arguments", []string{"version", "now"}, []string{"takes no argument"}, exitInput},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.args[0] == "run" || tc.args[0] == "matrix" {
				withBinaries(t)
				if !strings.Contains(strings.Join(tc.args, " "), "--out") {
					tc.args = append(tc.args, "--out", t.TempDir())
				}
			}
			_, _, code, err := invoke(t, tc.args...)
			if err == nil {
				t.Fatal("no error")
			}
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// withBinaries puts empty programs beside the test binary: what is tested here
// fails before any of them is started.
func withBinaries(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"k8s-watch", "storagemock", "watchbench"} {
		path := filepath.Join(filepath.Dir(self), name)
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(path) })
	}
}

func TestExitCodes(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	pass := map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 1}, "G2": {Verdict: result.Allowed}}
	failed := map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 1}, "G2": {Verdict: result.Fail, Judged: 1, Violations: 1}}
	absent := map[string]result.Check{"G2": {Verdict: result.Fail, Judged: 1}} // a violation that was expected
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"ok", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Valid: true, Checks: pass}}}), exitOK},
		{"a failed check", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Valid: true, Checks: failed}}}), exitCheck},
		{"an invalid cell", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Checks: pass}}}), exitInvalid},
		{"both", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Checks: failed}}}), exitCheck},
		{"an expected violation that an invalid cell lacks", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Checks: absent}}}), exitInvalid},
		{"a threshold that does not hold", t.Context(), judgement(&result.Results{Thresholds: []result.Threshold{{Metric: "freshness.p99", Valid: 1}}}), exitCheck},
		{"a threshold that holds", t.Context(), judgement(&result.Results{Thresholds: []result.Threshold{{Valid: 1, Holds: true}}}), exitOK},
		{"a threshold without a valid cell", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a"}}, Thresholds: []result.Threshold{{}}}), exitInvalid},
		{"the graver of two runs", t.Context(), worse(&verdict{code: exitInvalid}, &verdict{code: exitCheck}), exitCheck},
		{"a watcher that crashed", t.Context(), judgement(&result.Results{Run: result.Run{Order: []string{"a"}, Crashed: []result.Crash{{ID: "a", Why: "exit code 2"}}}}), exitError},
		{"a cell that is missing", t.Context(), judgement(&result.Results{Run: result.Run{Order: []string{"a"}}}), exitInvalid},
		{"one good run of two", t.Context(), worse(nil, &verdict{code: exitInvalid}), exitInvalid},
		{"a failure", t.Context(), errors.New("boom"), exitError},
		{"bad input", t.Context(), &badinput.Error{}, exitInput},
		{"interrupted", done, errors.New("boom"), exitInterrupted},
		{"finished in spite of the signal", done, nil, exitOK},
	} {
		if got := exitCode(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestScenarioCommands(t *testing.T) {
	out, _, code, err := invoke(t, "scenarios", "list")
	if code != exitOK || !strings.Contains(strings.Join(strings.Fields(out), " "), "strategies 6 The three published methods") {
		t.Errorf("list: %q, %v", out, err)
	}
	out, _, _, err = invoke(t, "scenarios", "show", "smoke")
	if err != nil || !strings.Contains(out, "name: smoke") {
		t.Errorf("show: %q, %v", out, err)
	}
	out, _, _, err = invoke(t, "scenarios", "validate", "smoke", "--set", "repeat=5")
	if err != nil || !strings.Contains(out, "valid, 2 points × repeat 5: 10 cells to run, about ") || !strings.Contains(out, "keyed") {
		t.Errorf("validate: %q, %v", out, err)
	}
	out, _, _, err = invoke(t, "scenarios", "schema")
	if err != nil || !json.Valid([]byte(out)) {
		t.Errorf("schema: %v", err)
	}
}

func TestMatrixInput(t *testing.T) {
	withBinaries(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"matrix", "F99"}, `"F99" is neither a row F0 to F30 nor a scenario of the matrix`},
		{[]string{"matrix", "--profile", "old"}, "--profile old is not known; use default or legacy"},
		{[]string{"matrix", "F2", "--set", "load.thread=1"}, "load.thread: unknown field; did you mean threads?"},
		{[]string{"matrix", "F2", "--out", file(t, "taken", "")}, "name a folder that can be written"},
	} {
		_, _, code, err := invoke(t, tc.args...)
		if err == nil || code != exitInput || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: code %d, %v, want %q", tc.args, code, err, tc.want)
		}
	}
}

// TestMatrixChoice: a row means all its scenarios, a scenario only itself, whatever
// else its row has.
func TestMatrixChoice(t *testing.T) {
	for _, tc := range []struct{ profile, refs, want, asked string }{
		{"default", "faults/f27-expired", "faults/f27-expired", "F27"},
		{"default", "faults/f27-expired faults/f27-wrong-ca", "faults/f27-expired faults/f27-wrong-ca", "F27"},
		{"default", "F23 faults/f27-expired", "faults/f23-two faults/f27-expired", "F23 F27"},
		// Without names only what it is expected to break.
		{"legacy", "", "faults/f00-none faults/f02-refuse faults/f05-unknown-faithful faults/f07-poison-retried faults/f19-burst", "F0 F2 F5 F7 F19"},
	} {
		f := matrixFlags{runFlags: runFlags{sets: []string{"watcher.profile=" + tc.profile}}, profile: tc.profile}
		todo, asked, err := f.chosen(matrixCommand(), strings.Fields(tc.refs))
		var names []string
		for _, p := range todo {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tc.want || strings.Join(asked, " ") != tc.asked {
			t.Errorf("%s: %s, rows %v, %v, want %s", tc.refs, got, asked, err, tc.want)
		}
	}
}

// TestMatrixVerdict: a violation is graver than a scenario that proves nothing.
func TestMatrixVerdict(t *testing.T) {
	fails := result.MatrixEntry{Scenario: "a", Columns: map[string]result.Column{"C": {Verdict: result.Fail}}}
	holds := result.MatrixEntry{Scenario: "b", Columns: map[string]result.Column{"C": {Verdict: result.Pass}}}
	for _, tc := range []struct {
		entries []result.MatrixEntry
		want    int
	}{
		{[]result.MatrixEntry{holds, {NotBuilt: "later"}, {NotRun: true}}, exitOK},
		{[]result.MatrixEntry{holds, {Invalid: []string{"never fired"}}}, exitInvalid},
		{[]result.MatrixEntry{{Invalid: []string{"never fired"}}, fails}, exitCheck},
		{[]result.MatrixEntry{holds, {Error: "the apiserver ended"}}, exitInvalid},
		{[]result.MatrixEntry{holds, {Error: "the watcher ended", Columns: map[string]result.Column{"X": {Verdict: result.Fail}}}}, exitCheck},
	} {
		if got := exitCode(t.Context(), matrixVerdict(&result.Matrix{Entries: tc.entries})); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.entries, got, tc.want)
		}
	}
	for tries, want := range map[int]int{result.MostRetries: exitOK, result.MostRetries + 1: exitInvalid} {
		m := &result.Matrix{Entries: []result.MatrixEntry{holds}, Retries: make([]result.Retry, tries)}
		if got := exitCode(t.Context(), matrixVerdict(m)); got != want {
			t.Errorf("%d second tries: %d, want %d", tries, got, want)
		}
	}
}
