package deploy

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type step struct {
	Name, Uses, Shell, Run, If, ID string
	Env, With                      map[string]string
}

type action struct {
	Inputs map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

func readAction(t *testing.T) (a action) {
	t.Helper()
	data, err := os.ReadFile("gate/action.yml")
	if err == nil {
		err = yaml.Unmarshal(data, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var (
	expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)
	input      = regexp.MustCompile(`inputs\.([a-z-]+)`)
	variable   = regexp.MustCompile(`\$\{?([A-Z][A-Z_]+)`)
)

// TestInputs: every input that is declared is used, every one that is used is declared, no
// script has an expression in it, and every variable that a script reads is set.
func TestInputs(t *testing.T) {
	a := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) < 4 {
		t.Fatalf("%s action of %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if expression.MatchString(s.Run) {
			t.Errorf("step %q: an input becomes a part of the script: %s", s.Name, expression.FindString(s.Run))
		}
		if (s.Run == "") == (s.Uses == "") || s.Run != "" && s.Shell != "bash" {
			t.Errorf("step %q: wants either uses, or run in bash", s.Name)
		}
		for _, text := range append(slices.Collect(maps.Values(s.Env)), append(slices.Collect(maps.Values(s.With)), s.If)...) {
			for _, m := range input.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
		known := []string{"RUNNER_TEMP", "GITHUB_ACTION_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"}
		for _, m := range variable.FindAllStringSubmatch(s.Run, -1) {
			if _, set := s.Env[m[1]]; !set && !slices.Contains(known, m[1]) {
				t.Errorf("step %q reads $%s, which nobody sets", s.Name, m[1])
			}
		}
	}
	for name, in := range a.Inputs {
		if !used[name] || in.Description == "" {
			t.Errorf("input %s: used %t, described as %q", name, used[name], in.Description)
		}
	}
	for name := range used {
		if _, declared := a.Inputs[name]; !declared {
			t.Errorf("input %s is used and not declared", name)
		}
	}
	page, err := os.ReadFile("../docs/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range a.Inputs {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/gate.md does not say what the input %s is", name)
		}
	}
}

// ground is a runner's machine with programs of the test's own.
type ground struct {
	a               action
	dir, bin        string
	inputs, env     map[string]string
	summary, output string
}

// stub go "builds" a watchbench that writes what the test wants and ends as it wants, into a
// folder; of what is built as a file it notes the call. stub docker copies a text.
const (
	stubGo = `#!/bin/bash
echo "go $*" >>"$CALLS"
[ "$1" = env ] && exec echo arm64
while [ $# -gt 0 ]; do [ "$1" = -o ] && to=$2; shift; done
case "$to" in */) mkdir -p "$to" && cp "$STUBS/watchbench" "$to/watchbench" ;; esac
`
	stubDocker = `#!/bin/bash
echo "docker $*" >>"$CALLS"
case "$1" in create) echo c0ffee ;; cp) echo binary >"${@: -1}" ;; esac
`
	stubWatchbench = `#!/bin/bash
printf '%s\n' "$@" >"$CALLS.args"
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
if [ -n "$VERDICT" ]; then
  echo "$VERDICT: because" | tee "$out/gate.txt"
  echo "## $VERDICT" >"$out/gate.md"
  echo "::notice title=x::$VERDICT" >"$out/gate.annotations"
fi
echo "$SAID"
exit "$CODE"
`
)

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{a: readAction(t), dir: t.TempDir(), inputs: map[string]string{}}
	for name, in := range g.a.Inputs {
		g.inputs[name] = in.Default
	}
	g.bin, g.summary, g.output = filepath.Join(g.dir, "stubs"), filepath.Join(g.dir, "summary.md"), filepath.Join(g.dir, "output")
	here, err := filepath.Abs("gate")
	if err == nil {
		err = errors.Join(os.Mkdir(g.bin, 0o755), os.WriteFile(g.summary, nil, 0o644), os.WriteFile(g.output, nil, 0o644))
	}
	for name, text := range map[string]string{"go": stubGo, "docker": stubDocker, "watchbench": stubWatchbench} {
		err = errors.Join(err, os.WriteFile(filepath.Join(g.bin, name), []byte(text), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	g.env = map[string]string{
		"PATH": g.bin + ":" + os.Getenv("PATH"), "STUBS": g.bin, "CALLS": filepath.Join(g.dir, "calls"), "HOME": os.Getenv("HOME"),
		"RUNNER_TEMP": filepath.Join(g.dir, "temp"), "GITHUB_ACTION_PATH": here, "GITHUB_STEP_SUMMARY": g.summary, "GITHUB_OUTPUT": g.output,
		"CODE": "0", "VERDICT": "", "SAID": "",
	}
	return g
}

// run runs the scripts of the action in their order, as a runner does, and returns what they
// printed and the exit code of the first that failed.
func (g *ground) run(t *testing.T) (printed string, code int) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	for _, s := range g.a.Runs.Steps {
		if s.Run == "" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir = g.dir
		for name, value := range g.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		for name, value := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				return g.inputs[input.FindStringSubmatch(e)[1]]
			}))
		}
		out, err := cmd.CombinedOutput()
		printed += string(out)
		if err != nil {
			return printed, cmd.ProcessState.ExitCode()
		}
	}
	return printed, 0
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// TestSteps: how the steps end, what they print and put out, by what watchbench gate says.
func TestSteps(t *testing.T) {
	for _, tc := range []struct {
		name, verdict, said, code, failOn string
		want                              int
		output, summary, printed          string
	}{
		{"pass", "PASS", "", "0", "regression", 0, "verdict=PASS\nexit-code=0\n", "## PASS\n", "::notice title=x::PASS"},
		{"regression", "FAIL", "", "4", "regression", 4, "verdict=FAIL\nexit-code=4\n", "## FAIL\n", "::notice title=x::FAIL"},
		{"too noisy", "INCONCLUSIVE", "", "5", "regression", 0, "verdict=INCONCLUSIVE\nexit-code=5\n", "## INCONCLUSIVE\n", "::warning title=watchbench gate::INCONCLUSIVE: this run can neither pass nor fail"},
		{"too noisy, strictly", "INVALID", "", "5", "inconclusive", 5, "verdict=INVALID\nexit-code=5\n", "## INVALID\n", ""},
		{"warning, strictly", "WARN", "", "4", "warning", 4, "verdict=WARN\nexit-code=4\n", "## WARN\n", ""},
		{"the same program", "", "a and b are the same program but for its version: nothing to gate", "0", "regression", 0, "verdict=SAME\nexit-code=0\n", "a and b are the same program but for its version: nothing to gate\n", ""},
		{"an error", "", "", "1", "regression", 1, "verdict=ERROR\nexit-code=1\n", "", ""},
		{"no verdict", "", "", "0", "regression", 1, "verdict=ERROR\nexit-code=1\n", "", "it ended without a verdict"},
		{"no verdict, as if too noisy", "", "", "5", "regression", 1, "verdict=ERROR\nexit-code=1\n", "", "it ended without a verdict"},
		{"no such policy", "PASS", "", "0", "never", 2, "", "", "fail-on is neither"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newGround(t)
			g.env["VERDICT"], g.env["SAID"], g.env["CODE"] = tc.verdict, tc.said, tc.code
			g.inputs["fail-on"] = tc.failOn
			g.inputs["base-command"], g.inputs["new-command"] = "a {config}", "b {config}"
			printed, code := g.run(t)
			if code != tc.want || read(t, g.output) != tc.output || read(t, g.summary) != tc.summary || !strings.Contains(printed, tc.printed) {
				t.Errorf("exit code %d, want %d\noutput %q\nsummary %q\nprinted %s", code, tc.want, read(t, g.output), read(t, g.summary), printed)
			}
			strict := slices.Contains(strings.Split(read(t, g.env["CALLS"]+".args"), "\n"), "--strict")
			if strict != (tc.failOn == "warning") {
				t.Errorf("--strict: %t", strict)
			}
		})
	}
}

// TestOfAnEarlierUse: what another use of the action left in the folder is not this one's.
func TestOfAnEarlierUse(t *testing.T) {
	g := newGround(t)
	left := filepath.Join(g.dir, "watchbench-gate")
	if err := errors.Join(os.MkdirAll(left, 0o755), os.WriteFile(filepath.Join(left, "gate.txt"), []byte("PASS: because\n"), 0o644), os.WriteFile(filepath.Join(left, "gate.md"), []byte("## PASS\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	g.env["CODE"] = "1"
	if printed, code := g.run(t); code != 1 || read(t, g.output) != "verdict=ERROR\nexit-code=1\n" || read(t, g.summary) != "" {
		t.Errorf("exit code %d: %s\n%s\n%s", code, printed, read(t, g.output), read(t, g.summary))
	}
}

// TestImages: binaries are copied out of images and stand for {binary}; hostile inputs stay
// one argument.
func TestImages(t *testing.T) {
	g := newGround(t)
	hostile := `{binary} -f {config} --x="$(touch stolen)" '; exit 9 & #`
	g.env["VERDICT"] = "PASS"
	g.inputs["base-image"], g.inputs["new-image"], g.inputs["image-path"] = "example.com/w:1", "example.com/w:2", "/usr/bin/w"
	g.inputs["base-command"], g.inputs["new-command"], g.inputs["rules"] = "{binary} -f {config}", hostile, "my rules.yaml"
	printed, code := g.run(t)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, printed)
	}
	temp := g.env["RUNNER_TEMP"] + "/watchbench"
	args := strings.Split(strings.TrimSpace(read(t, g.env["CALLS"]+".args")), "\n")
	want := []string{"gate", "--blocks", "16", "--scenario", "gate", "--out", "watchbench-gate", "--runs", "watchbench-gate/run", "--quiet",
		"--base-command", temp + "/base/watcher -f {config}", "--new-command", strings.ReplaceAll(hostile, "{binary}", temp+"/new/watcher"), "--rules", "my rules.yaml"}
	if !slices.Equal(args, want) {
		t.Errorf("\n got %q\nwant %q", args, want)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "stolen")); err == nil {
		t.Error("an input was run")
	}
	calls := read(t, g.env["CALLS"])
	for _, call := range []string{"docker create -- example.com/w:1 watcher", "docker cp -L c0ffee:/usr/bin/w " + temp + "/new/watcher", "docker rm c0ffee"} {
		if !strings.Contains(calls, call+"\n") {
			t.Errorf("%q was not called: %s", call, calls)
		}
	}
	g = newGround(t)
	g.inputs["new-image"] = "example.com/w:2"
	if printed, code = g.run(t); code != 2 || !strings.Contains(printed, "image-path is empty") {
		t.Errorf("exit code %d: %s", code, printed)
	}
}
