package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/party"
)

func TestMain(m *testing.M) {
	code := clustertest.Shared(m).Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct {
	sync.Once
	dir string
	err error
}

// k6Binary builds the program, once for all tests of the package.
func k6Binary(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "k6-"); built.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", built.dir, ".").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building k6: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "k6")
}

// writeScript writes a script that has churn, a Churn with these options, and options of k6.
func writeScript(t *testing.T, churn, options, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.js")
	text := "import { sleep, check } from 'k6';\nimport { Churn } from 'k6/x/podchurn';\nexport const options = " + options + ";\nconst churn = new Churn(" + churn + ");\n" + body
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runScript runs a script and returns what it printed.
func runScript(t *testing.T, bin, script string, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := []string{"run", "--quiet", "--no-color", "--address="}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	cmd := exec.CommandContext(ctx, bin, append(args, script)...)
	cmd.Env = append(os.Environ(), party.Hermetic()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// TestExamples runs the shipped scripts on a real API server, with their thresholds, and
// counts what they did in the op log.
func TestExamples(t *testing.T) {
	env := clustertest.Start(t)
	bin := k6Binary(t)
	for _, tc := range []struct {
		script string
		want   map[string]int // operations on pods by type, at least
	}{
		{"pods.js", map[string]int{oplog.TypeCreate: 8, oplog.TypePatch: 12, oplog.TypeDelete: 4}},
	} {
		t.Run(tc.script, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "ops.ndjson.zst")
			out, err := runScript(t, bin, filepath.Join("..", "..", "loadgen", "xk6", "examples", tc.script),
				"KUBECONFIG="+env.Kubeconfig, "OPLOG="+log)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := map[string]int{}
			ids := map[int64]bool{}
			for r, err := range oplog.ReadFile(log) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Phase != oplog.PhaseLoad || r.Kind != "Pod" {
					continue
				}
				if !r.OK() || r.Intended == 0 || r.Intended > r.Started || r.Finished < r.Started || r.UID == "" || ids[r.ID] {
					t.Errorf("record %+v", r)
				}
				ids[r.ID] = true
				got[r.Type]++
			}
			for op, n := range tc.want {
				if got[op] < n {
					t.Errorf("%d operations %s in the op log, want %d: %v", got[op], op, n, got)
				}
			}
		})
	}
}

// TestBadScripts: each ends with a code that is not 0 and one message, and leaves no op log
// behind, nor what was in its place.
func TestBadScripts(t *testing.T) {
	bin := k6Binary(t)
	const plan = "{runID: 'r', model: 'closed', threads: 1, operations: 1}"
	for _, tc := range []struct{ name, options, want string }{
		{"unknown option", `{kubeconfig: 'k', oplog: __ENV.OPLOG, plan: ` + plan + `}`, "oplog: unknown field; did you mean opLog?"},
		{"missing kubeconfig", `{kubeconfig: 'none', opLog: __ENV.OPLOG, plan: ` + plan + `}`, "none"},
		{"somebody else's file", `{kubeconfig: __ENV.KC, opLog: __ENV.NOTES, plan: ` + plan + `}`, "is there and is no op log, so it is not overwritten"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			log, notes, kc := filepath.Join(dir, "ops"), filepath.Join(dir, "notes"), filepath.Join(dir, "kc")
			for path, text := range map[string]string{notes: "important\n", kc: deadKubeconfig} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script := writeScript(t, tc.options, "{}", "export function setup() { churn.prepare(); }\nexport default function () {}\n")
			out, err := runScript(t, bin, script, "OPLOG="+log, "NOTES="+notes, "KC="+kc)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%v\n%s\nwant %s", err, out, tc.want)
			}
			if _, err := os.Stat(log); err == nil {
				t.Error("left an op log behind")
			}
			if text, err := os.ReadFile(notes); string(text) != "important\n" {
				t.Errorf("the file that was there is %q, %v", text, err)
			}
		})
	}
}

const deadKubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
`

const options = "{kubeconfig: __ENV.KUBECONFIG, opLog: __ENV.OPLOG, plan: {runID: __ENV.RUN, model: 'closed', threads: 5, duration: '1m'}}"

// TestNothingIsLeft: a script without a teardown that k6 would run leaves nothing in the cluster.
func TestNothingIsLeft(t *testing.T) {
	env := clustertest.Start(t)
	log := filepath.Join(t.TempDir(), "ops")
	script := writeScript(t, options, "{setupTimeout: '5m'}", "export function setup() { churn.prepare(); throw new Error('of its own'); }\nexport default function () {}\n")
	out, err := runScript(t, k6Binary(t), script, "KUBECONFIG="+env.Kubeconfig, "OPLOG="+log, "RUN=thrown")
	if err == nil || !strings.Contains(out, "of its own") {
		t.Errorf("%v\n%s", err, out)
	}
	made := 0
	for r, err := range oplog.ReadFile(log) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == "Namespace" && r.Type == oplog.TypeCreate {
			made++
		}
	}
	opts := metav1.ListOptions{LabelSelector: "watchbench.dev/run=thrown"}
	client := kubernetes.NewForConfigOrDie(env.Config)
	namespaces, err1 := client.CoreV1().Namespaces().List(t.Context(), opts)
	nodes, err2 := client.CoreV1().Nodes().List(t.Context(), opts)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if made == 0 || len(namespaces.Items)+len(nodes.Items) > 0 {
		t.Errorf("of %d namespaces %d are left, and %d nodes", made, len(namespaces.Items), len(nodes.Items))
	}
}

// TestDriver: k6 sends all operations of a plan, each once and not before its time, whether a
// profile's, of a closed loop that time ends long before its operations, or at a constant rate.
func TestDriver(t *testing.T) {
	env := clustertest.Start(t)
	bin := k6Binary(t)
	for name, load := range map[string]string{
		"profile":  "model: open\nrate: 4\nduration: 5s\nnodes: 20\nprofile: service-churn\ntuning: {timeScale: 1000}\n",
		"constant": "model: open\nrate: 20\nduration: 3s\n",
		"closed":   "model: closed\nthreads: 3\noperations: 10000000\nduration: 2s\n",
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := plan.Parse("plan", []byte("runID: driver-"+name+"\n"+load))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			f := party.K6Files{Plan: filepath.Join(dir, "plan.yaml"), Kubeconfig: env.Kubeconfig, OpLog: filepath.Join(dir, "ops"), Script: filepath.Join(dir, "k6.js"), Shard: plan.Whole}
			data, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.Plan, data, 0o600); err != nil {
				t.Fatal(err)
			}
			args, environ, err := party.K6Command(cfg, f)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, bin, args...)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.WaitDelay = time.Minute
			cmd.Env, cmd.Stdin = append(os.Environ(), environ...), strings.NewReader("go\ngo\n")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			p, err := plan.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			sent := map[int64]bool{}
			for r, err := range oplog.ReadFile(f.OpLog) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Phase != oplog.PhaseLoad || r.Type == oplog.TypeHeartbeat {
					continue
				}
				if sent[r.ID] && r.Attempt == 0 || r.Started < r.Intended {
					t.Errorf("record %+v", r)
				}
				sent[r.ID] = true
			}
			planned := p.Planned()
			if cfg.Model == plan.ModelClosed {
				planned = min(planned, int64(len(sent))) // as many as there was time for
			}
			if name == "constant" && int64(len(sent)) == planned-1 {
				planned-- // k6 may be late for the last tick, which is due just before the end
			}
			if len(sent) < 10 || int64(len(sent)) != planned {
				t.Errorf("%d of %d operations were sent\n%s", len(sent), planned, out)
			}
		})
	}
}
