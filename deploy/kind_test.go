package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster"
)

const (
	kindName  = "watchbench-deploy"
	namespace = "k8s-watch-demo" // of the overlay
	shop      = "shop"           // the namespace of the objects that change
)

// onKind is a kind cluster that has our images.
type onKind struct {
	t                   *testing.T
	kubeconfig, context string
	client              kubernetes.Interface
}

var onCluster = flag.Bool("kind", false, "run the manifests on a kind cluster")

// needKind skips a test that was not asked for, or cannot be.
func needKind(t *testing.T) {
	t.Helper()
	if !*onCluster {
		t.Skip("SKIPPED, the manifests ran on no cluster: make deploy-test runs this test")
	}
	for _, need := range [][]string{{"docker", "version"}, {"docker", "image", "inspect", cluster.DefaultKindImage()}, {"kubectl", "version", "--client"}} {
		if out, err := exec.CommandContext(t.Context(), need[0], need[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED, the manifests ran on no cluster: %s: %v: %s", strings.Join(need, " "), err, bytes.TrimSpace(out))
		}
	}
}

// makeImages builds the images, and the programs of which they are.
func makeImages(t *testing.T) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "make", "-C", "..", "build", "image", "IMAGES=test")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build image: %v\n%s", err, out)
	}
}

// kindCluster builds the images and creates a cluster that has them.
func kindCluster(t *testing.T, name string) *onKind {
	t.Helper()
	needKind(t)
	makeImages(t)
	provider, err := cluster.New(cluster.Kind, cluster.Options{Kind: cluster.KindOptions{Name: name,
		Images: []string{"k8s-watch:test", "storagemock:test", "watchbench:test"}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := provider.Up(t.Context(), func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return &onKind{t, c.Kubeconfig, "kind-" + name, kubernetes.NewForConfigOrDie(cfg)}
}

// startOnKind applies the overlay to a cluster.
func startOnKind(t *testing.T) *onKind {
	t.Helper()
	k := kindCluster(t, kindName)
	manifests := bytes.ReplaceAll(kubectl(t, "kustomize", "overlays/demo"), []byte(":dev\n"), []byte(":test\n"))
	apply := exec.CommandContext(t.Context(), "kubectl", "--kubeconfig", k.kubeconfig, "apply", "--validate=strict", "-f", "-")
	apply.Stdin = bytes.NewReader(manifests)
	out, err := apply.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Warning")) { // Pod Security warns of a template
		t.Fatalf("apply: %v\n%s", err, out)
	}
	return k
}

func (k *onKind) kubectl(args ...string) string {
	k.t.Helper()
	return string(kubectl(k.t, append([]string{"--kubeconfig", k.kubeconfig}, args...)...))
}

// rows is what storage holds: the resourceVersion by kind/namespace/name. Nothing when
// storage cannot be asked at the moment.
func (k *onKind) rows() map[string]string {
	ctx, pods := k.t.Context(), k.client.CoreV1().Pods(namespace)
	mocks, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=storagemock"})
	if err != nil || len(mocks.Items) == 0 {
		return nil
	}
	raw, err := pods.ProxyGet("http", mocks.Items[0].Name, "50025", "/state", nil).DoRaw(ctx)
	if err != nil {
		return nil
	}
	rows := map[string]string{}
	for line := range bytes.Lines(raw) {
		var row struct {
			Kind, Namespace, Name string
			Data                  struct {
				Metadata struct{ ResourceVersion string }
			}
		}
		if err := json.Unmarshal(line, &row); err != nil {
			k.t.Fatalf("%v: %s", err, line)
		}
		rows[row.Kind+"/"+row.Namespace+"/"+row.Name] = row.Data.Metadata.ResourceVersion
	}
	return rows
}

// differences is what storage has not as the cluster has it: Services of the shop,
// Namespaces, and Pods, which change by themselves.
func (k *onKind) differences() []string {
	ctx, core, all := k.t.Context(), k.client.CoreV1(), metav1.ListOptions{}
	want := map[string]string{}
	add := func(kind string, o *metav1.ObjectMeta) {
		if o.Namespace != "kube-system" { // the shipped filter leaves it out
			want[kind+"/"+o.Namespace+"/"+o.Name] = o.ResourceVersion
		}
	}
	services, err := core.Services(shop).List(ctx, all)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range services.Items {
		add("Service", &services.Items[i].ObjectMeta)
	}
	namespaces, err := core.Namespaces().List(ctx, all)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range namespaces.Items {
		add("Namespace", &namespaces.Items[i].ObjectMeta)
	}
	pods, err := core.Pods("").List(ctx, all)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range pods.Items {
		add("Pod", &pods.Items[i].ObjectMeta)
	}
	var out []string
	rows := k.rows()
	for key, version := range want {
		if rows[key] != version {
			out = append(out, fmt.Sprintf("%s: version %q, want %s", key, rows[key], version))
		}
	}
	for key := range rows {
		kind, rest, _ := strings.Cut(key, "/")
		if _, ok := want[key]; !ok && (kind == "Pod" || kind == "Service" && strings.HasPrefix(rest, shop+"/")) {
			out = append(out, key+" is too many")
		}
	}
	return out
}

// awaitEqual waits until storage has what the cluster has.
func (k *onKind) awaitEqual(within time.Duration) {
	k.t.Helper()
	deadline := time.Now().Add(within)
	for {
		d := k.differences()
		if len(d) == 0 {
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("storage differs after %s:\n%s\n%s", within, strings.Join(d, "\n"), k.kubectl("-n", namespace, "logs", "-l", "app.kubernetes.io/name=k8s-watch", "--tail=20", "--prefix"))
		}
		time.Sleep(time.Second)
	}
}

// leader is the Pod that holds the Lease; its name begins the holder's identity.
func (k *onKind) leader() string {
	k.t.Helper()
	lease, err := k.client.CoordinationV1().Leases(namespace).Get(k.t.Context(), "k8s-watch", metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	pods, err := k.client.CoreV1().Pods(namespace).List(k.t.Context(), metav1.ListOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, p := range pods.Items {
		if lease.Spec.HolderIdentity != nil && strings.HasPrefix(*lease.Spec.HolderIdentity, p.Name+"-") {
			return p.Name
		}
	}
	return ""
}

// kill ends the process of a Pod with SIGKILL, so that it cannot give its Lease back, and
// removes the Pod, so that it does not start again.
func (k *onKind) kill(pod string) {
	k.t.Helper()
	const script = `id=$(crictl ps -q --label io.kubernetes.pod.name=$0) && pid=$(crictl inspect -o go-template --template '{{.info.pid}}' $id) && kill -KILL $pid`
	out, err := exec.CommandContext(k.t.Context(), "docker", "exec", kindName+"-control-plane", "sh", "-c", script, pod).CombinedOutput()
	if err != nil {
		k.t.Fatalf("kill the process of %s: %v\n%s", pod, err, out)
	}
	k.kubectl("-n", namespace, "delete", "pod", pod, "--grace-period=0", "--force")
}

// change creates, changes and deletes Services, different ones in each round.
func (k *onKind) change(round int) {
	k.t.Helper()
	ctx, services := k.t.Context(), k.client.CoreV1().Services(shop)
	for i := range 20 {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d-%d", round, i)},
			Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
		}
		s, err := services.Create(ctx, s, metav1.CreateOptions{})
		if err == nil {
			s.Labels = map[string]string{"changed": "yes"}
			_, err = services.Update(ctx, s, metav1.UpdateOptions{})
		}
		if err == nil && i%4 == 0 {
			err = services.Delete(ctx, s.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// The images and manifests work on a real cluster whose namespace enforces the
// restricted Pod Security level: both replicas get ready, storage has what the cluster
// has, and it has so again after the leader was killed while objects changed.
func TestOnKind(t *testing.T) {
	k := startOnKind(t)
	core := k.client.CoreV1()
	for _, d := range []string{"storagemock-demo", "k8s-watch-demo"} {
		k.kubectl("-n", namespace, "rollout", "status", "deployment/"+d, "--timeout=110s")
	}
	ns, err := core.Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if err != nil || ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Fatalf("the namespace has the labels %v: %v", ns.Labels, err)
	}
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	k.change(0)
	k.awaitEqual(time.Minute)
	first := k.leader()
	if first == "" {
		t.Fatal("no Pod holds the Lease")
	}
	t.Logf("storage has all of it; %s leads\n%s", first, k.kubectl("-n", namespace, "get", "pods,pdb,lease"))

	killed := time.Now()
	k.kill(first)
	second := ""
	var took time.Duration
	for round := 1; second == "" || second == first; round++ {
		if time.Since(killed) > 40*time.Second {
			t.Fatalf("nobody took over within 40 s: %s", k.kubectl("-n", namespace, "get", "lease", "-o", "yaml"))
		}
		k.change(round)
		time.Sleep(time.Second)
		second = k.leader()
		took = time.Since(killed)
	}
	t.Logf("%s took over within %s", second, took.Round(time.Second))
	k.awaitEqual(time.Minute)
	k.kubectl("-n", namespace, "rollout", "status", "deployment/k8s-watch-demo", "--timeout=110s")
	if took < 10*time.Second {
		t.Errorf("it took over within %s: the leader was not killed, it gave its Lease back", took)
	}
	if n := strings.Count(k.kubectl("-n", namespace, "logs", "-l", "app.kubernetes.io/name=k8s-watch", "--tail=-1"), "forbidden"); n > 0 {
		t.Errorf("%d log lines about rights", n)
	}
	t.Logf("at the end\n%s", k.kubectl("-n", namespace, "get", "pods", "-o", "wide"))
}
