package deploy

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// job is one of GitLab's.
type job struct {
	Variables    map[string]string
	Script       []string
	AllowFailure struct {
		ExitCodes []int `yaml:"exit_codes"`
	} `yaml:"allow_failure"`
	Artifacts struct {
		When    string
		Paths   []string
		Reports struct{ JUnit string }
	}
}

func readJob(t *testing.T, file string) job {
	t.Helper()
	var jobs map[string]job
	data, err := os.ReadFile(filepath.Join("gate", file))
	if err == nil {
		err = yaml.Unmarshal(data, &jobs)
	}
	if err != nil || len(jobs) != 1 {
		t.Fatal(file, len(jobs), err)
	}
	return jobs["watchbench-gate"]
}

// stub crane exports an image whose only file says which image it is.
const stubCrane = `#!/bin/bash
echo "crane $*" >>"$CALLS"
[ "$1" = auth ] && exec cat >"$CALLS.password"
mkdir -p "$STUBS/root/usr/local/bin"
echo "$4" >"$STUBS/root/usr/local/bin/watcher"
tar -C "$STUBS/root" -cf - usr
`

// run runs the job's script as GitLab does, one shell for all lines, with /tmp in a folder of
// the test's own.
func (j job) run(t *testing.T, g *ground) (printed string, code int) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	err := os.MkdirAll(g.dir+"/tmp/watchbench/bin", 0o755)
	for name, text := range map[string]string{g.bin + "/git": "#!/bin/bash\necho \"git $*\" >>\"$CALLS\"\n", g.dir + "/tmp/watchbench/bin/crane": stubCrane} {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o755))
	}
	err = errors.Join(err, os.MkdirAll(g.dir+"/watchbench-gate", 0o755)) // which the real watchbench makes
	if err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(strings.Join(j.Script, "\n"), "/tmp/", g.dir+"/tmp/")
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = g.dir
	given := map[string]string{
		"CI_REGISTRY": "registry.example.com", "CI_REGISTRY_IMAGE": "registry.example.com/w", "CI_COMMIT_SHA": "c0ffee",
		"CI_REGISTRY_USER": "u", "CI_REGISTRY_PASSWORD": "p w", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "ba5e",
	}
	for _, env := range []map[string]string{g.env, given} {
		for name, value := range env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range j.Variables {
		cmd.Env = append(cmd.Env, name+"="+os.Expand(value, func(of string) string { return given[of] }))
	}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// TestGitLab: both examples keep the report where watchbench writes it, take the exit code of
// "cannot say" for a warning only, gate as many blocks as the action, and end as watchbench
// gate does.
func TestGitLab(t *testing.T) {
	for _, tc := range []struct {
		file  string
		calls []string
	}{
		{"gitlab-ci.yml", []string{"git worktree add --detach TMP/base-source ba5e", "go build -C TMP/base-source -o TMP/base/watcher ./cmd/watcher", "go build -o TMP/new/watcher ./cmd/watcher"}},
		{"gitlab-ci-image.yml", []string{"crane auth login -u u --password-stdin registry.example.com", "crane export --platform linux/arm64 registry.example.com/w:v1.4.0 -", "crane export --platform linux/arm64 registry.example.com/w:c0ffee -"}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			j := readJob(t, tc.file)
			if !slices.Equal(j.AllowFailure.ExitCodes, []int{5}) || j.Artifacts.When != "always" || j.Artifacts.Reports.JUnit != "watchbench-gate/gate.xml" || !slices.Equal(j.Artifacts.Paths, []string{"watchbench-gate"}) {
				t.Errorf("%+v", j)
			}
			g := newGround(t)
			g.env["CODE"] = "5"
			if printed, code := j.run(t, g); code != 1 {
				t.Errorf("exit code 5 without a verdict ends with %d, want 1: %s", code, printed)
			}
			for _, end := range []string{"0", "4", "5"} {
				g := newGround(t)
				g.env["VERDICT"], g.env["CODE"] = "SOME", end
				printed, code := j.run(t, g)
				if want := int(end[0] - '0'); code != want || !strings.Contains(printed, "SOME: because") {
					t.Fatalf("exit code %d, want %d: %s", code, want, printed)
				}
				tmp := g.dir + "/tmp"
				args := strings.Split(strings.TrimSpace(read(t, g.env["CALLS"]+".args")), "\n")
				want := []string{"gate", "--blocks", g.a.Inputs["blocks"].Default, "--out", "watchbench-gate", "--runs", "watchbench-gate/run", "--quiet",
					"--base-command", tmp + "/base/watcher --config {config}", "--new-command", tmp + "/new/watcher --config {config}"}
				if !slices.Equal(args, want) {
					t.Errorf("\n got %q\nwant %q", args, want)
				}
				calls := read(t, g.env["CALLS"])
				for _, call := range tc.calls {
					if call = strings.ReplaceAll(call, "TMP", tmp); !strings.Contains(calls, call+"\n") {
						t.Errorf("%q was not called: %s", call, calls)
					}
				}
				if tc.file != "gitlab-ci-image.yml" {
					continue
				}
				if base, changed := read(t, tmp+"/base/watcher"), read(t, tmp+"/new/watcher"); base != "registry.example.com/w:v1.4.0\n" || changed != "registry.example.com/w:c0ffee\n" {
					t.Errorf("the base is %q, what is judged is %q", base, changed)
				}
				if info, err := os.Stat(filepath.Join(tmp, "new/watcher")); err != nil || info.Mode()&0o111 == 0 || read(t, g.env["CALLS"]+".password") != "p w" {
					t.Errorf("%v, %v, password %q", info, err, read(t, g.env["CALLS"]+".password"))
				}
			}
		})
	}
}
