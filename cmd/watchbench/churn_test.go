package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/terminal"
)

func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const deadKubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
`

func TestChurnBadInput(t *testing.T) {
	good := writeText(t, "plan.yaml", "runID: r\nmodel: closed\nthreads: 1\noperations: 1\n")
	bad := writeText(t, "bad.yaml", "runID: r\nmodel: closed\nthreads: 1\noperations: 1\nspeed: 3\n")
	open := writeText(t, "open.yaml", "runID: r\nmodel: open\nrate: 100\nduration: 1s\n")
	dead := writeText(t, "dead", deadKubeconfig)
	oplog := filepath.Join(t.TempDir(), "ops")
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no speed", []string{"--speed", "3"}, terminal.ExitUsage, `"3" is not a speed; write a number with x, for example 10x, or unlimited`},
		{"no trace", []string{"--trace", dead, "--oplog", oplog, "--simulate", oplog + ".kc"}, terminal.ExitUsage, "this is not a trace of watchbench record"},
		{"closed loop simulated", []string{"--plan", good, "--oplog", oplog, "--simulate", oplog + ".kc"}, terminal.ExitUsage, "model closed cannot be replayed"},
		{"bad plan", []string{"--plan", bad, "--kubeconfig", dead, "--oplog", oplog}, terminal.ExitUsage, bad + ":5: speed: unknown field"},
		{"kubeconfig over somebody's", []string{"--plan", open, "--oplog", oplog, "--simulate", dead}, terminal.ExitUsage, "--simulate: " + dead + " is there and is no kubeconfig of a simulated apiserver"},
		{"op log over the plan", []string{"--plan", good, "--kubeconfig", dead, "--oplog", good}, terminal.ExitUsage, "--oplog: " + good + " is there and is no op log, so it is not overwritten"},
		{"no shard", []string{"--shard", "5/4"}, terminal.ExitUsage, `"5/4" is not a shard; use I/N`},
		{"a shard of a simulation", []string{"--plan", open, "--oplog", oplog, "--simulate", oplog + ".kc", "--shard", "1/2"}, terminal.ExitUsage, "--simulate: the simulated apiserver is in one process with its load; leave --shard out"},
		{"unreachable apiserver", []string{"--plan", good, "--kubeconfig", dead, "--oplog", oplog}, terminal.ExitError, "reaching the apiserver at http://127.0.0.1:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := runParty(churnCommand, tc.args, streams{strings.NewReader(""), &out, &errOut})
			got := errOut.String()
			if code != tc.code || !strings.Contains(got, tc.want) {
				t.Errorf("exit code %d, %q; want %d, %q", code, got, tc.code, tc.want)
			}
			if n := strings.Count(got, "\n"); n > 1 {
				t.Errorf("%d lines of error: %s", n, got)
			}
		})
	}
}

// TestChurnSignal: a signal ends the load, and what was made is removed, also if more of them follow, or if nobody reads
// any more what churn reports: its runner was killed.
func TestChurnSignal(t *testing.T) {
	program, env := watchbench(t), clustertest.Start(t)
	for _, killed := range []bool{false, true} {
		id := fmt.Sprintf("c%d", time.Now().UnixNano()%1e12)
		plan := writeText(t, "plan.yaml", "runID: "+id+"\nmodel: closed\nthreads: 2\nduration: 1h\n")
		cmd := exec.Command(program, "churn", "--plan", plan, "--kubeconfig", env.Kubeconfig, "--oplog", filepath.Join(t.TempDir(), "ops"))
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.Contains(s.Text(), `"phase":"load"`) && sent == 0 || strings.Contains(s.Text(), `"phase":"teardown"`) {
				sent++
				if killed {
					_ = out.Close()
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			}
		}
		_ = cmd.Wait() // which says what the exit code says
		if c := cmd.ProcessState.ExitCode(); !killed && sent != 2 || c != terminal.ExitInterrupted || !strings.Contains(errOut.String(), "interrupted") {
			t.Errorf("runner killed: %t: exit code %d after %d signals, %s", killed, c, sent, &errOut)
		}
		left, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Namespaces().List(context.Background(),
			metav1.ListOptions{LabelSelector: "watchbench.dev/run=" + id})
		if err != nil || len(left.Items) != 0 {
			t.Errorf("runner killed: %t: %d namespaces left, %v", killed, len(left.Items), err)
		}
	}
}
