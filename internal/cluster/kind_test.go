package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/owned"
)

func newTestKind(t *testing.T, opts KindOptions) Provider {
	t.Helper()
	if opts.Temp == "" {
		opts.Temp = t.TempDir()
	}
	p, err := New(Kind, Options{Kind: opts})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func dockerLines(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := docker{}.lines(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// needKind skips where there is no Docker or no node image: pulling one would make
// the test depend on the network.
func needKind(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("creates a kind cluster, which -short leaves out")
	}
	if err := (docker{}).check(t.Context()); err != nil {
		t.Skipf("needs Docker: %v", err)
	}
	if _, err := (docker{}).lines(t.Context(), "image", "inspect", DefaultKindImage()); err != nil {
		t.Skipf("needs the node image %s: %v", DefaultKindImage(), err)
	}
}

func TestKindUpDown(t *testing.T) {
	needKind(t)
	home := t.TempDir()
	t.Setenv("HOME", home) // a kubeconfig of the user must not appear
	t.Setenv("KUBECONFIG", "")
	temp := t.TempDir()
	const name = "watchbench-test"
	ctx := t.Context()

	c, err := newTestKind(t, KindOptions{Name: name, Temp: temp, Cache: filepath.Join(home, "cache")}).Up(ctx, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Down(context.Background()) })
	if want := strings.TrimPrefix(DefaultKindImage(), "kindest/node:"); c.Version != want {
		t.Errorf("version %s, want %s", c.Version, want)
	}
	for party, want := range map[string]string{etcdParty: "--unsafe-no-fsync=true", apiserverParty: "--max-requests-inflight=3000"} {
		if line := commandLine(c.PIDs[party]); line != "" && !strings.Contains(line, want) { // empty: in a virtual machine
			t.Errorf("%s runs without %s: %s", party, want, line)
		}
	}
	info, err := os.Stat(c.Kubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v, want mode 0600", info, err)
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(cfg)
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("got %d nodes and error %v, want 1 node", len(nodes.Items), err)
	}
	bindToHandMadeNode(t, client)
	deleteOwnNamespace(t, cfg, client)

	t.Run("taken", func(t *testing.T) {
		_, err := newTestKind(t, KindOptions{Name: name}).Up(ctx, nil)
		var input *badinput.Error
		if !errors.As(err, &input) || !strings.Contains(err.Error(), "exists already") || !strings.Contains(err.Error(), "--context kind-"+name) {
			t.Fatalf("got error %v, want an input error that says how to use the cluster", err)
		}
	})

	started := time.Now()
	if err := c.Down(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("down in %s", time.Since(started))
	assertKindGone(t, name, temp)
	if _, err := os.Stat(filepath.Join(home, ".kube")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the user's ~/.kube was touched: %v", err)
	}
}

// bindToHandMadeNode does what the load generator does: a pod bound to a node that
// has no kubelet stays as it was created.
func bindToHandMadeNode(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx := t.Context()
	_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "hand-made"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "c", Image: "none"}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			NodeName:    "hand-made",
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Spec.NodeName != "hand-made" || pod.Status.Phase != corev1.PodPending {
		t.Errorf("pod is on %q in phase %s, want hand-made and Pending", pod.Spec.NodeName, pod.Status.Phase)
	}
}

// deleteOwnNamespace shows that a namespace with a pod that no kubelet ends goes away.
func deleteOwnNamespace(t *testing.T, cfg *rest.Config, client kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "own", Labels: map[string]string{owned.RunLabel: "r"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the namespace has its service account", func() bool {
		_, err := client.CoreV1().ServiceAccounts("own").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	_, err = client.CoreV1().Pods("own").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{NodeName: "hand-made", Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := owned.DeleteNamespace(ctx, cfg, "own", "r"); err != nil {
		t.Errorf("delete a namespace with a pod on a hand-made node: %v", err)
	}
	t.Logf("namespace deleted in %s", time.Since(started))
}

func assertKindGone(t *testing.T, name, temp string) {
	t.Helper()
	if left := dockerLines(t, "ps", "-a", "-q", "--filter", "label="+kindLabel+"="+name); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	if out, err := exec.Command("pgrep", "-f", "watchbench-watchdog "+name).Output(); err == nil {
		t.Errorf("watchdog left: %s", out)
	}
}

func TestKindCancelled(t *testing.T) {
	needKind(t)
	const name = "watchbench-cancel"
	temp := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted by the test")
	started := time.Now()
	_, err := newTestKind(t, KindOptions{Name: name, Temp: temp, Cache: t.TempDir()}).Up(ctx, func(s string) {
		t.Log(time.Since(started).Round(time.Millisecond), s)
		if strings.Contains(s, "creating") {
			time.AfterFunc(10*time.Second, func() { cancel(reason) })
		}
	})
	t.Logf("returned after %s", time.Since(started))
	if !errors.Is(err, reason) {
		t.Errorf("got error %v, want the reason of the cancellation", err)
	}
	assertKindGone(t, name, temp)
}

// TestKindParentKilled is about the watchdog: nobody calls Down.
func TestKindParentKilled(t *testing.T) {
	needKind(t)
	const name = "watchbench-killed"
	temp := t.TempDir()
	cmd, c := startHelper(t, helperOptions{
		Provider: Kind, Options: Options{Kind: KindOptions{Name: name, Temp: temp, Cache: t.TempDir()}}, Stay: true,
	})
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, time.Minute, "the kind cluster of a killed process goes away", func() bool {
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0
	})
	assertKindGone(t, name, temp)
}
