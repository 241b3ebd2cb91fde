package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/commandline"
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
	empty := writeText(t, "empty", "hello: world\n")
	oplog := filepath.Join(t.TempDir(), "ops")
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no flags", nil, commandline.ExitUsage, "--plan is missing"},
		{"unknown flag", []string{"--pace", "3"}, commandline.ExitUsage, "unknown flag: --pace"},
		{"no speed", []string{"--speed", "3"}, commandline.ExitUsage, `"3" is not a speed; write a number with x, for example 10x, or unlimited`},
		{"speed of a real cluster", []string{"--plan", good, "--kubeconfig", dead, "--oplog", oplog, "--speed", "3x"}, commandline.ExitUsage, "--speed, --listen and --trace are for --simulate"},
		{"two clusters", []string{"--plan", good, "--kubeconfig", dead, "--oplog", oplog, "--simulate", oplog}, commandline.ExitUsage, "exclude each other"},
		{"trace and plan", []string{"--plan", open, "--trace", dead, "--oplog", oplog, "--simulate", oplog + ".kc"}, commandline.ExitUsage, "--plan and --trace exclude each other"},
		{"trace of a real cluster", []string{"--trace", dead, "--kubeconfig", dead, "--oplog", oplog}, commandline.ExitUsage, "--trace are for --simulate"},
		{"no trace", []string{"--trace", dead, "--oplog", oplog, "--simulate", oplog + ".kc"}, commandline.ExitUsage, "this is not a trace of watchbench record"},
		{"closed loop simulated", []string{"--plan", good, "--oplog", oplog, "--simulate", oplog + ".kc"}, commandline.ExitUsage, "model closed cannot be replayed"},
		{"bad address", []string{"--plan", open, "--oplog", oplog, "--simulate", oplog + ".kc", "--listen", "127.0.0.1:x"}, commandline.ExitUsage, "unknown port"},
		{"kubeconfig in no folder", []string{"--plan", open, "--oplog", oplog, "--simulate", "/none/kc"}, commandline.ExitUsage, "/none/kc"},
		{"argument", []string{"plan.yaml"}, commandline.ExitUsage, `unexpected argument "plan.yaml"`},
		{"wrong flag value", []string{"--teardown-timeout", "5"}, commandline.ExitUsage, "--teardown-timeout"},
		{"no time to tear down", []string{"--plan", good, "--kubeconfig", dead, "--oplog", oplog, "--teardown-timeout", "0s"}, commandline.ExitUsage, "use a time above 0s"},
		{"no kubeconfig", []string{"--plan", good, "--oplog", oplog}, commandline.ExitUsage, "--kubeconfig is missing"},
		{"no op log", []string{"--plan", good, "--kubeconfig", dead}, commandline.ExitUsage, "--oplog is missing"},
		{"missing plan", []string{"--plan", "/none.yaml", "--kubeconfig", dead, "--oplog", oplog}, commandline.ExitUsage, "/none.yaml"},
		{"bad plan", []string{"--plan", bad, "--kubeconfig", dead, "--oplog", oplog}, commandline.ExitUsage, bad + ":5: speed: unknown field"},
		{"missing kubeconfig", []string{"--plan", good, "--kubeconfig", "/none", "--oplog", oplog}, commandline.ExitUsage, "--kubeconfig: stat /none"},
		{"not a kubeconfig", []string{"--plan", good, "--kubeconfig", empty, "--oplog", oplog}, commandline.ExitUsage, "no cluster in it"},
		{"kubeconfig over somebody's", []string{"--plan", open, "--oplog", oplog, "--simulate", dead}, commandline.ExitUsage, "--simulate: " + dead + " is there and is no kubeconfig of a simulated apiserver"},
		{"missing context", []string{"--plan", good, "--kubeconfig", dead, "--context", "none", "--oplog", oplog}, commandline.ExitUsage, `context "none" does not exist`},
		{"op log in no folder", []string{"--plan", good, "--kubeconfig", dead, "--oplog", "/none/ops"}, commandline.ExitUsage, "--oplog: open /none/ops: no such file or directory; name a file"},
		{"op log over the plan", []string{"--plan", good, "--kubeconfig", dead, "--oplog", good}, commandline.ExitUsage, "--oplog: " + good + " is there and is no op log, so it is not overwritten"},
		{"unreachable apiserver", []string{"--plan", good, "--kubeconfig", dead, "--oplog", oplog}, commandline.ExitError, "reaching the apiserver at http://127.0.0.1:1"},
		{"removal without a cluster", []string{"--remove", "r"}, commandline.ExitUsage, "--kubeconfig is missing"},
		{"removal from a dead cluster", []string{"--remove", "r", "--kubeconfig", dead}, commandline.ExitError, "listing the namespaces of run r"},
		{"good plan checked", []string{"--check", "--plan", good}, commandline.ExitOK, ""},
		{"bad plan checked", []string{"--check", "--plan", bad}, commandline.ExitUsage, "speed: unknown field"},
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

func TestChurnHelpAndVersion(t *testing.T) {
	for flag, want := range map[string]string{"--help": "--plan", "--version": "churn version"} {
		var out, errOut bytes.Buffer
		if code := runParty(churnCommand, []string{flag}, streams{nil, &out, &errOut}); code != commandline.ExitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit code %d, %s%s", flag, code, &out, &errOut)
		}
	}
}

// TestChurnSignal runs the command in this process and sends it the signal that a user
// or a runner would.
func TestChurnSignal(t *testing.T) {
	env := clustertest.Start(t)
	id := fmt.Sprintf("c%d", time.Now().UnixNano()%1e12)
	plan := writeText(t, "plan.yaml", "runID: "+id+"\nmodel: closed\nthreads: 2\nduration: 1h\n")
	outRead, outWrite := io.Pipe()
	var errOut bytes.Buffer
	code := make(chan int)
	go func() {
		c := runParty(churnCommand, []string{"--plan", plan, "--kubeconfig", env.Kubeconfig, "--oplog", filepath.Join(t.TempDir(), "ops")}, streams{nil, outWrite, &errOut})
		_ = outWrite.Close()
		code <- c
	}()
	sent := false
	for s := bufio.NewScanner(outRead); s.Scan(); {
		if strings.Contains(s.Text(), `"phase":"load"`) && !sent {
			sent = true
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c := <-code; c != commandline.ExitInterrupted || !strings.Contains(errOut.String(), "interrupted") {
		t.Errorf("exit code %d, %s", c, &errOut)
	}
	left, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Namespaces().List(context.Background(),
		metav1.ListOptions{LabelSelector: "watchbench.dev/run=" + id})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("%d namespaces left, %v", len(left.Items), err)
	}
}
