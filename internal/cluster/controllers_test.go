package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

var controllersFlag = flag.Bool("controllers", false, "run the tests with kube-controller-manager, kube-scheduler and kwok, building them where they are missing (about two minutes)")

// The option alone decides what is started, and nothing else about the control plane.
func TestControllersAreAskedFor(t *testing.T) {
	without, with := EmbeddedOptions{}, EmbeddedOptions{Controllers: true}
	if got := without.parties(); !slices.Equal(got, []string{etcdParty, apiserverParty}) || without.grace() != nil {
		t.Errorf("without controllers: %v, flags %v", got, without.grace())
	}
	got := with.parties()
	if len(got) != 5 || !slices.Equal(got[:2], without.parties()) {
		t.Errorf("with controllers: %v", got)
	}
	for _, party := range got {
		if !slices.Contains(endOrder, party) {
			t.Errorf("nobody ends %s", party)
		}
	}
	if with.grace()["default-not-ready-toleration-seconds"] != "5" {
		t.Errorf("flags of kube-apiserver: %v", with.grace())
	}
}

// A controller that ends at its start is named, with what its log says.
func TestControllerThatEnds(t *testing.T) {
	dir := t.TempDir()
	r := &run{dir: dir, logs: map[string]string{}, files: map[string]*os.File{}}
	if err := r.openLog("", controlplane.Kwok); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.files[controlplane.Kwok].Close() })
	if err := os.WriteFile(filepath.Join(dir, controlplane.Kwok), []byte("#!/bin/sh\necho 'Error: unknown flag: '$1 >&2; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := r.launch(controlplane.Kwok, "--nonsense")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = p.healthy(ctx, "http://127.0.0.1:1/healthz")
	r.wg.Wait()
	if err = r.explain(t.Context(), err); err == nil || !strings.Contains(err.Error(), "kwok: ended") || !strings.Contains(err.Error(), "unknown flag: --nonsense") {
		t.Errorf("got error %v, want one with the party and its log", err)
	}
}

// A real Deployment lives: its pods are made, placed, run, and go when it goes; and every
// party is a process of its own, with its own identity, that ends with the cluster.
func TestControllers(t *testing.T) {
	if !*controllersFlag {
		t.Skip("starts kube-controller-manager, kube-scheduler and kwok: go test ./internal/cluster -run TestControllers -controllers")
	}
	temp, logs := t.TempDir(), t.TempDir()
	began := time.Now()
	p := newEmbeddedIn(t, temp, EmbeddedOptions{Controllers: true, Logs: logs})
	c, err := p.Up(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Down(context.Background()) })
	t.Logf("up in %s", time.Since(began).Round(100*time.Millisecond))
	if !c.Controllers || len(c.PIDs) != 5 || len(c.Logs) != 5 {
		t.Fatalf("controllers %v, processes %v, logs %v", c.Controllers, c.PIDs, c.Logs)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(cfg)
	live(t, client)
	whoWrote(t, client)
	held(t, c)
	restarted(t, c, client)
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	for party, pid := range c.PIDs {
		if args := commandLine(pid); args != "" {
			t.Errorf("%s is still there: %s", party, args)
		}
		if info, err := os.Stat(filepath.Join(logs, party+logSuffix)); err != nil || info.Size() == 0 && party != etcdParty {
			t.Errorf("log of %s: %v, %v", party, info, err)
		}
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

const controllersWait = 2 * time.Minute

func until(t *testing.T, what string, ok func(context.Context) (string, bool)) {
	t.Helper()
	began, last := time.Now(), ""
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, controllersWait, true, func(ctx context.Context) (done bool, _ error) {
		last, done = ok(ctx)
		return done, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last: %s", what, err, last)
	}
	t.Logf("%s after %s", what, time.Since(began).Round(10*time.Millisecond))
}

// live takes a Deployment through its life, on a node that arrives late.
func live(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx, replicas := t.Context(), int32(3)
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/web:1"}}},
		}},
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("default")
	count := func(ctx context.Context, of func(*corev1.Pod) bool) (text string, n int) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return err.Error(), -1
		}
		for i := range list.Items {
			text += fmt.Sprintf("%s %v; ", list.Items[i].Status.Phase, list.Items[i].Status.Conditions)
			if of(&list.Items[i]) {
				n++
			}
		}
		return text, n
	}
	condition := func(what corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == what && c.Status == status })
		}
	}
	until(t, "3 pods that no node takes", func(ctx context.Context) (string, bool) {
		text, n := count(ctx, condition(corev1.PodScheduled, corev1.ConditionFalse))
		return text, n == 3
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late", Labels: map[string]string{KwokLabel: "true"}}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "3 ready pods", func(ctx context.Context) (string, bool) {
		text, n := count(ctx, condition(corev1.PodReady, corev1.ConditionTrue))
		return text, n == 3
	})
	background := metav1.DeletePropagationBackground
	if err := client.AppsV1().Deployments("default").Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	until(t, "all gone", func(ctx context.Context) (string, bool) {
		text, n := count(ctx, func(*corev1.Pod) bool { return true })
		return text, n == 0
	})
}

// held stops the controllers and has them go on; one that has died is missed.
func held(t *testing.T, c *Cluster) {
	t.Helper()
	states := func() (text string) {
		for _, party := range controlplane.Controllers() {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PIDs[party]))
			if err != nil {
				t.Skip("no /proc")
			}
			_, after, _ := strings.Cut(string(status), ") ")
			text += after[:1]
		}
		return text
	}
	if err := c.Hold(); err != nil {
		t.Fatal(err)
	}
	until(t, "three stopped processes", func(context.Context) (string, bool) { return states(), states() == "TTT" })
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	until(t, "three running processes", func(context.Context) (string, bool) { return states(), !strings.Contains(states(), "T") })
	dead := &Cluster{PIDs: map[string]int{controlplane.Scheduler: c.PIDs[controlplane.Scheduler], controlplane.Kwok: os.Getpid()}}
	if err := dead.Hold(); err == nil || !strings.Contains(err.Error(), "kwok") || strings.Contains(err.Error(), "scheduler") {
		t.Errorf("got error %v, want one about kwok", err)
	}
	if err := dead.Release(); err == nil {
		t.Error("a process that is not kwok was taken for it")
	}
}

// restarted kills the apiserver under its clients: what was written is still there, the
// controllers go on, and the new process is known.
func restarted(t *testing.T, c *Cluster, client kubernetes.Interface) {
	t.Helper()
	before := c.PIDs[apiserverParty]
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.PIDs[apiserverParty] == before || commandLine(before) != "" {
		t.Errorf("kube-apiserver was process %d (%q) and is %d", before, commandLine(before), c.PIDs[apiserverParty])
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	until(t, "the node that was there", func(ctx context.Context) (string, bool) {
		_, err := client.CoreV1().Nodes().Get(ctx, "late", metav1.GetOptions{})
		return fmt.Sprint(err), err == nil
	})
	until(t, "a service account for a new namespace", func(ctx context.Context) (string, bool) {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
		_, err2 := client.CoreV1().ServiceAccounts("new").Get(ctx, "default", metav1.GetOptions{})
		return fmt.Sprint(err, err2), err2 == nil
	})
	if err := (&Cluster{}).RestartAPIServer(t.Context()); !errors.Is(err, ErrFixed) {
		t.Errorf("of a cluster that is not ours: %v", err)
	}
}

// whoWrote looks for each party's own name among the managers of what it writes, and for
// the identity that has no more rights than it should.
func whoWrote(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), "late", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var managers []string
	for _, m := range node.ManagedFields {
		managers = append(managers, m.Manager)
	}
	for _, want := range []string{"kube-controller-manager", "kwok"} {
		if !slices.Contains(managers, want) {
			t.Errorf("the node was written by %v, not by %s", managers, want)
		}
	}
	sa, err := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(t.Context(), "deployment-controller", metav1.GetOptions{})
	if err != nil || sa.Name == "" {
		t.Errorf("the controller manager's loops have no identities of their own: %v", err)
	}
}
