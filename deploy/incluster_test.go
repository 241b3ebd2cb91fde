package deploy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/reports/result"
)

// loaded is where the images of kind are that were loaded into its nodes.
const loaded = "docker.io/library"

// bench is the runner's command line, on the test's cluster or, without one, on a kind cluster that it makes. That a
// machine is busy makes no cell invalid.
func bench(k *onKind, out string, args ...string) *exec.Cmd {
	words := append([]string{"run", "smoke", "--out", out, "--quiet", "--in-cluster", "--image-tag", "test",
		"--set", "storage.latency=200ms", "--set", "limits.lag=20s", "--set", "limits.minOffered=10%"}, args...)
	if k != nil {
		words = append(words, "--kubeconfig", k.kubeconfig, "--context", k.context, "--image-registry", loaded)
	}
	return exec.Command("../bin/watchbench", words...)
}

// theRun reads the results of the only run in a folder.
func theRun(t *testing.T, out string) *result.Results {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "smoke-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	res, err := result.LoadFile(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// theRuns is what runs have left in the cluster.
func (k *onKind) theRuns() (left []string) {
	ctx, all := k.t.Context(), metav1.ListOptions{}
	jobs, err := k.client.BatchV1().Jobs("watchbench").List(ctx, all)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range jobs.Items {
		left = append(left, "Job "+jobs.Items[i].Name)
	}
	pods, err := k.client.CoreV1().Pods("watchbench").List(ctx, all)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range pods.Items {
		left = append(left, "Pod "+pods.Items[i].Name)
	}
	namespaces, err := k.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: "watchbench.dev/run"})
	if err != nil {
		return []string{err.Error()}
	}
	for i := range namespaces.Items {
		left = append(left, "Namespace "+namespaces.Items[i].Name)
	}
	nodes, err := k.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "watchbench.dev/run"})
	if err != nil {
		return []string{err.Error()}
	}
	for i := range nodes.Items {
		left = append(left, "Node "+nodes.Items[i].Name)
	}
	return left
}

// standIns are the processes of this machine that stand in for Pods of the runs in a folder.
func standIns(t *testing.T, out string) (pids []int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		words, err := os.ReadFile(path)
		if args := bytes.Split(words, []byte{0}); err == nil && len(args) > 2 && string(args[1]) == "pod" && strings.HasPrefix(string(args[2]), out) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestOnKindInCluster: watcher, storage and generator are Pods, with the rights that the runner prints and no others;
// the run is judged as one on this machine is; it leaves nothing, also when all its processes here are killed.
func TestOnKindInCluster(t *testing.T) {
	k := kindCluster(t, "watchbench-in-cluster")
	rbac := bench(k, t.TempDir(), "--rbac")
	manifests, err := rbac.Output()
	if err != nil {
		t.Fatalf("--rbac: %v", err)
	}
	apply := exec.CommandContext(t.Context(), "kubectl", "--kubeconfig", k.kubeconfig, "apply", "--validate=strict", "-f", "-")
	apply.Stdin = bytes.NewReader(manifests)
	if said, err := apply.CombinedOutput(); err != nil || bytes.Contains(said, []byte("Warning")) {
		t.Fatalf("apply: %v\n%s", err, said)
	}

	out := t.TempDir()
	if said, err := bench(k, out, "--repeat", "1").CombinedOutput(); err != nil {
		t.Fatalf("smoke in a cluster: %v\n%s", err, said)
	}
	res := theRun(t, out)
	if p := res.Environment.Pods; p == nil || len(p.Nodes) != 1 || p.Nodes[0].CPUs == 0 || len(p.Images) != 3 || !strings.HasPrefix(p.Images[loaded+"/k8s-watch:test"], "sha256:") {
		t.Errorf("nodes and images: %+v", p)
	}
	for _, c := range res.Cells {
		if !c.Valid || c.Freshness == nil || c.Watcher.CPUSeconds == nil || *c.Watcher.CPUSeconds <= 0 || c.Watcher.RSSPeakMiB == nil || c.Watcher.NetKiBps == nil {
			t.Errorf("%s: valid %v %v: %+v", c.ID, c.Valid, c.InvalidReasons, c.Watcher)
		}
		for _, g := range []string{"G1", "G2", "G3", "G6"} {
			if c.Checks[g].Verdict != result.Pass {
				t.Errorf("%s: %s: %+v", c.ID, g, c.Checks[g])
			}
		}
	}
	if left := append(k.theRuns(), names(standIns(t, out))...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if said, err := exec.CommandContext(t.Context(), "../bin/watchbench", "check", mustGlob(t, out)).CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, said)
	}

	t.Run("throttled", k.throttled)
	t.Run("evicted", k.evicted)
	t.Run("killed", k.killed)
}

func names(pids []int) (all []string) {
	for _, pid := range pids {
		all = append(all, "process "+strconv.Itoa(pid))
	}
	return all
}

func mustGlob(t *testing.T, out string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "smoke-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	return dirs[0]
}

// short has one cell run for a while.
var short = []string{"--repeat", "1", "--set", "matrix.watcher.strategy=keyed"}

// throttled: a Pod that did not get its CPU makes the cell invalid, and is named.
func (k *onKind) throttled(t *testing.T) {
	out := t.TempDir()
	said, err := bench(k, out, append(short, "--limits", "cpu=50m,memory=256Mi")...).CombinedOutput()
	if code(err) != 5 {
		t.Fatalf("exit code %d, want 5: %v\n%s", code(err), err, said)
	}
	if why := strings.Join(theRun(t, out).Cells[0].InvalidReasons, "\n"); !strings.Contains(why, "was throttled for ") || !strings.Contains(why, "(CPU limit 50m)") {
		t.Errorf("invalid because %q", why)
	}
}

// evicted: a Pod that the cluster ends in the load makes the cell invalid, and it is run once more, with a Pod of its own.
func (k *onKind) evicted(t *testing.T) {
	out := t.TempDir()
	run := bench(k, out, append(short, "--set", "load.duration=20s")...)
	ended := begin(t, run)
	pod := k.awaitPod(t, "k8s-watch")
	time.Sleep(5 * time.Second) // the load has begun, or the cell is lost before it does: both are to be found
	if err := k.client.CoreV1().Pods("watchbench").Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; code(err) != 0 && code(err) != 5 { // of the second try
		t.Fatalf("exit code %d, want 0 or 5: %v", code(err), err)
	}
	if again := theRun(t, out).Run.Again; len(again) != 1 || !strings.Contains(again[0].Why, pod) {
		t.Errorf("run again: %+v, which does not name %s", again, pod)
	}
	if left := k.theRuns(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// killed: when all processes of this machine are gone in the middle of the load, the cluster gets rid of their Pods, and
// these of what they made.
func (k *onKind) killed(t *testing.T) {
	const within = 5 * time.Minute
	out := t.TempDir()
	run := bench(k, out, append(short, "--set", "load.duration=60s")...)
	ended := begin(t, run)
	k.awaitPod(t, "k8s-watch")
	k.await(t, time.Minute, "a namespace of the load", func() bool {
		return slices.ContainsFunc(k.theRuns(), func(s string) bool { return strings.HasPrefix(s, "Namespace ") })
	})
	pids := standIns(t, out)
	if len(pids) != 3 {
		t.Fatalf("%d stand-ins, want 3", len(pids))
	}
	for _, pid := range append([]int{run.Process.Pid}, pids...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	<-ended
	at := time.Now()
	if len(k.theRuns()) == 0 {
		t.Fatal("nothing was there to be left behind")
	}
	k.await(t, within, "the end of what the run made", func() bool { return len(k.theRuns()) == 0 })
	t.Logf("nothing is left after %s", time.Since(at).Round(time.Second))
}

// begin starts a run, which the test outlives.
func begin(t *testing.T, run *exec.Cmd) <-chan error {
	t.Helper()
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended, result := make(chan struct{}), make(chan error, 1)
	go func() { // ends with the run
		result <- run.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("%s", said.Bytes())
		}
	})
	return result
}

func (k *onKind) awaitPod(t *testing.T, of string) (name string) {
	t.Helper()
	k.await(t, 2*time.Minute, "a Pod of "+of, func() bool {
		pods, err := k.client.CoreV1().Pods("watchbench").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; strings.Contains(p.Name, of) && !strings.Contains(p.Name, "preflight") && p.Status.Phase == corev1.PodRunning {
				name = p.Name
			}
		}
		return name != ""
	})
	return name
}

func (k *onKind) await(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come within %s: %v", what, within, k.theRuns())
		}
	}
}

func code(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return -1
}

// TestOnKindOfItsOwn: on a kind cluster that the run makes it needs nothing but the images, and leaves no container.
func TestOnKindOfItsOwn(t *testing.T) {
	needKind(t)
	makeImages(t)
	const name = "watchbench-own"
	containers := func() string {
		out, err := exec.CommandContext(context.Background(), "docker", "ps", "-a", "-q", "--filter", "label=io.x-k8s.kind.cluster="+name).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for range 2 {
		out := t.TempDir()
		if said, err := bench(nil, out, append(short, "--cluster", "kind", "--kind-name", name)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if res := theRun(t, out); len(res.Cells) != 1 || !res.Cells[0].Valid {
			t.Errorf("%+v", res.Cells)
		}
		if left := containers(); left != "" {
			t.Errorf("containers are left: %s", left)
		}
	}
}
