package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/scenarios/pod"
)

// Of a runner that was killed the kernel sends its stand-ins SIGTERM once for each of its threads: the first has them
// remove their Jobs, and the others do not cut that short.
func TestStandinTakesOneSignal(t *testing.T) {
	bin := watchbench(t)
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	ns := clustertest.Namespace(t, env.Config)
	dir := t.TempDir()
	s := pod.Spec{Kubeconfig: filepath.Join(dir, "kubeconfig"), Namespace: ns, Owner: "run", Job: "party", Of: 1, Image: "i",
		AgentImage: "i", Argv: []string{"/party"}, Dir: dir}
	if err := kubeapi.WriteConfig(s.Kubeconfig, kubeapi.ConfigFor("test", env.Config)); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "pod", file(t, "spec.json", string(text)))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	// The cluster has no controllers: the Job gets no Pod, and is not gone before its finalizer is.
	until := func(what string, holds func(*batchv1.Job) bool) {
		t.Helper()
		for range 600 {
			job, err := client.BatchV1().Jobs(ns).Get(t.Context(), s.Job, metav1.GetOptions{})
			if err == nil && holds(job) {
				return
			}
			select {
			case err := <-ended:
				t.Fatalf("it has ended before %s: %v", what, err)
			case <-time.After(100 * time.Millisecond):
			}
		}
		t.Fatalf("not within a minute: %s", what)
	}
	until("its Job is made", func(*batchv1.Job) bool { return true })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	until("its Job is deleted", func(j *batchv1.Job) bool { return j.DeletionTimestamp != nil })
	for range 3 {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	until("its Job is there", func(*batchv1.Job) bool { return true }) // and the signals were taken
	if _, err := client.BatchV1().Jobs(ns).Patch(t.Context(), s.Job, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if code := cmd.ProcessState.ExitCode(); code != terminal.ExitInterrupted {
			t.Errorf("exit code %d: %v", code, err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}
