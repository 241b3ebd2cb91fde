package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/commandline"
)

// TestWitnessBadInput: one line, what would be right, and the code for it; nothing is written.
func TestWitnessBadInput(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	for _, c := range []struct {
		args string
		says string
	}{
		{"", "--kubeconfig is missing"},
		{"--kubeconfig x", "--oplog is missing"},
		{"--kubeconfig x --oplog " + log, "--kind is missing"},
		{"--kubeconfig x --oplog " + log + " --kind Pod", "--kind Pod: write a kind and its resource"},
		{"--kubeconfig x --oplog " + log + " --kind Pod=pods", "--kind Pod=pods: write"},
		{"--kubeconfig x --oplog " + log + " --kind =v1/pods", "--kind =v1/pods: write"},
		{"--kubeconfig x --oplog " + log + " --kind Pod=a/b/c/d", "--kind Pod=a/b/c/d: write"},
		{"--kubeconfig x --oplog " + log + " --kind Pod=v1//pods", "--kind Pod=v1//pods: write"},
		{"--kubeconfig " + filepath.Join(dir, "none") + " --oplog " + log + " --kind Pod=v1/pods", "no such file"},
		{"--kubeconfig " + empty + " --oplog " + log + " --kind Pod=v1/pods", "no cluster in it"},
		{"--kinds Pod=v1/pods", "unknown flag"},
		{"surplus", `unexpected argument "surplus"`},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, err bytes.Buffer
			code := runParty(witnessCommand, strings.Fields(c.args), streams{nil, &out, &err})
			if text := err.String(); code != commandline.ExitUsage || !strings.Contains(text, c.says) || strings.Count(text, "\n") != 1 || out.Len() > 0 {
				t.Errorf("exit code %d, %q, want %d and %q", code, text, commandline.ExitUsage, c.says)
			}
			if _, err := os.Stat(log); err == nil {
				t.Error("a log was made")
			}
		})
	}
}

// TestWitnessReplacesLogsOnly: a file that holds something else is left as it is.
func TestWitnessReplacesLogsOnly(t *testing.T) {
	const text = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	code := runParty(witnessCommand, []string{"--kubeconfig", path, "--oplog", path, "--kind", "Pod=v1/pods"}, streams{nil, &out, &err})
	if left, _ := os.ReadFile(path); code != commandline.ExitUsage || string(left) != text {
		t.Errorf("exit code %d, %q; the file holds %q", code, &err, left)
	}
}

func FuzzParseKind(f *testing.F) {
	for _, s := range []string{"Pod=v1/pods", "ReplicaSet=apps/v1/replicasets", "", "=", "a=/b", "a=b/c/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := parseKind(text)
		if err != nil {
			return
		}
		back := k.Name + "=" + k.Resource.Version + "/" + k.Resource.Resource
		if k.Resource.Group != "" {
			back = k.Name + "=" + k.Resource.Group + "/" + k.Resource.Version + "/" + k.Resource.Resource
		}
		if back != text || k.Name == "" || k.Resource.Version == "" || k.Resource.Resource == "" {
			t.Errorf("%q is read as %q", text, back)
		}
	})
}
