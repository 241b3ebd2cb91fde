package pod

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/plan"
)

var (
	onKind  = flag.Bool("kind", false, "run parties as Pods on a kind cluster (needs Docker, kubectl and a kind node image)")
	present = flag.String("kind-kubeconfig", "", "with -kind: use this kind cluster, whose nodes have the images of make image IMAGES=test")
	tag     = flag.String("image-tag", "test", "with -kind: tag of the images")
)

const kindName = "watchbench-pod"

// onKindCluster is a cluster with the images and a namespace.
type onKindCluster struct {
	*Place
	t          *testing.T
	kubeconfig string
	node       string // container
}

func startKind(t *testing.T) *onKindCluster {
	t.Helper()
	if !*onKind {
		t.Skip("SKIPPED, no party ran as a Pod: make pods-test runs this test")
	}
	k := &onKindCluster{t: t, kubeconfig: *present}
	if *present == "" {
		run(t, nil, "make", "-C", "../..", "image", "IMAGES="+*tag)
		provider, err := cluster.New(cluster.Kind, cluster.Options{Kind: cluster.KindOptions{Name: kindName}})
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
		k.kubeconfig = c.Kubeconfig
		run(t, nil, "sh", "-c", fmt.Sprintf("docker save k8s-watch:%[1]s storagemock:%[1]s watchbench:%[1]s | docker exec -i "+kindName+
			"-control-plane ctr --namespace=k8s.io images import --all-platforms --digests --snapshotter=overlayfs -", *tag))
	}
	k.Place = k.as(t, "wb-pod-test", nil)
	nodes, err := k.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes: %v", len(nodes.Items), err)
	}
	k.node = nodes.Items[0].Name
	objects, err := RBAC(k.namespace, []plan.Load{plan.DefaultLoad()}, []string{"Pod"})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if err := objects.Print(&printed); err != nil {
		t.Fatal(err)
	}
	run(t, strings.NewReader(printed.String()), "kubectl", "--kubeconfig", k.kubeconfig, "apply", "--validate=strict", "-f", "-")
	t.Cleanup(func() {
		run(t, strings.NewReader(printed.String()), "kubectl", "--kubeconfig", k.kubeconfig, "delete", "-f", "-")
	})
	return k
}

// as is the namespace as the runner's account, or as whoever cfg changes it to.
func (k *onKindCluster) as(t *testing.T, namespace string, change func(*rest.Config)) *Place {
	t.Helper()
	c := cluster.Cluster{Kubeconfig: k.kubeconfig}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cfg)
	}
	at, err := NewPlace(cfg, namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.close)
	return at
}

func run(t *testing.T, in io.Reader, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// spec is of a storagemock that listens on free ports there: API and admin.
func (k *onKindCluster) spec(t *testing.T, job, owner string) Spec {
	t.Helper()
	dir := t.TempDir()
	s := Spec{Kubeconfig: dir + "/kubeconfig", Namespace: k.namespace, Owner: owner, Job: job, Of: 1, Image: "storagemock:" + *tag,
		AgentImage: "watchbench:" + *tag, Limits: map[string]string{"cpu": "200m", "memory": "100Mi"}, Dir: dir, Results: []string{"ledger"}}
	s.Argv = []string{"/storagemock", "--listen", "0.0.0.0:0", "--admin", "127.0.0.1:0", "--allow-remote", "--save-ledger", dir + "/ledger"}
	// As the runner's account, which has no more than its roles.
	cfg, err := clientcmd.LoadFromFile(k.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range cfg.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + k.namespace + ":" + accountRunner
	}
	if err := kubeapi.WriteConfig(s.Kubeconfig, cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// standin is a stand-in as a process of its own.
type standin struct {
	*exec.Cmd
	t      *testing.T
	spec   Spec
	out    *bytes.Buffer
	err    *bytes.Buffer
	placed Placed
	said   struct {
		Listen []string
		Admin  string
	}
	client *http.Client // through the proxy
	ended  chan struct{}
}

// stand starts one, and waits until storage has announced itself.
func stand(t *testing.T, s Spec) *standin {
	t.Helper()
	file, self := filepath.Join(s.Dir, fmt.Sprintf("spec%d.json", s.Index)), ""
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err == nil {
		self, err = os.Executable()
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &standin{Cmd: exec.Command(self, file), t: t, spec: s, out: &bytes.Buffer{}, err: &bytes.Buffer{}, ended: make(chan struct{})}
	p.Env, p.Stderr = append(os.Environ(), actAs+"=standin"), p.err
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	said := json.NewDecoder(io.TeeReader(out, p.out))
	err = said.Decode(&p.placed)
	if err == nil {
		err = said.Decode(&p.said)
	}
	go func() {
		_, _ = io.Copy(p.out, out)
		_ = p.Wait()
		_ = in.Close()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		<-p.ended
	})
	proxy, e := url.Parse(p.placed.Proxy)
	p.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	t.Cleanup(p.client.CloseIdleConnections)
	err = errors.Join(err, e)
	if err != nil || len(p.said.Listen) != 1 {
		t.Fatalf("%v: %s\n%s", err, p.out, p.err)
	}
	return p
}

// get asks the mock's admin API.
func (p *standin) get(path string) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.said.Admin+path, nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	_, e := io.Copy(io.Discard, resp.Body)
	return errors.Join(err, e, resp.Body.Close())
}

// left is what of a run is in the namespace.
func (k *onKindCluster) left(owner string) (all []string) {
	k.t.Helper()
	of := metav1.ListOptions{LabelSelector: labelInstance + "=" + owner}
	pods, err := k.client.CoreV1().Pods(k.namespace).List(k.t.Context(), of)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, p := range pods.Items {
		all = append(all, "Pod "+p.Name+" "+string(p.Status.Phase))
	}
	jobs, err := k.client.BatchV1().Jobs(k.namespace).List(k.t.Context(), of)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, j := range jobs.Items {
		all = append(all, "Job "+j.Name)
	}
	return all
}

// TestOnKind runs parties as Pods on a real cluster, whose namespace enforces restricted Pod Security.
func TestOnKind(t *testing.T) {
	k := startKind(t)
	t.Run("refusals", k.testRefusals)
	t.Run("a party", k.testParty)
	t.Run("two", k.testTwo)
	t.Run("memory", k.testMemory)
	t.Run("deleted", func(t *testing.T) {
		k.testLost(t, LostDeleted, func(pod string) error {
			return k.client.CoreV1().Pods(k.namespace).Delete(t.Context(), pod, metav1.DeleteOptions{})
		})
	})
	t.Run("evicted", func(t *testing.T) {
		k.testLost(t, LostEvicted, func(pod string) error {
			return k.client.PolicyV1().Evictions(k.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: k.namespace}})
		})
	})
	t.Run("API server restarts", k.testRestart)
	if err := k.Clean(t.Context(), "run-1"); err != nil {
		t.Error(err)
	}
	if left := k.left("run-1"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	t.Run("runner is gone", k.testKilled)
}

func (k *onKindCluster) testParty(t *testing.T) {
	p := stand(t, k.spec(t, "storage", "run-1"))
	if err := p.get("/metrics"); err != nil {
		t.Error(err)
	}
	if w := p.placed.Pod; w.Node != k.node || net.ParseIP(p.placed.IP) == nil || !strings.Contains(w.ImageID, "sha256:") || w.Limits["cpu"] != "200m" || w.Limits["memory"] != "100Mi" {
		t.Errorf("%+v", w)
	}
	if u, err := Ask(t.Context(), p.client); err != nil || u.Use == nil || u.Use.CPUSeconds <= 0 || u.Use.RSSBytes < 1<<20 || u.OOMKills != 0 || u.Throttled < 0 {
		t.Errorf("%+v: %v", u, err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.ProcessState.ExitCode(); code != 0 || !strings.Contains(p.err.String(), "msg=stopped") {
		t.Errorf("exit code %d: %s", code, p.err)
	}
	if _, err := os.Stat(filepath.Join(p.spec.Dir, "ledger")); err != nil {
		t.Error(err)
	}
	if left := k.left("run-1"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// Two Pods of a Job: the Job stays for the second one.
func (k *onKindCluster) testTwo(t *testing.T) {
	one, two := k.spec(t, "storages", "run-1"), k.spec(t, "storages", "run-1")
	one.Of, two.Of, two.Index = 2, 2, 1
	two.Dir = one.Dir // of their Job
	two.Results, two.Argv[len(two.Argv)-1] = nil, one.Dir+"/ledger"
	first := stand(t, one)
	second := stand(t, two)
	for i, p := range []*standin{first, second} {
		if p.placed.Pod.Name == "" || i > 0 && p.placed.Pod.Name == first.placed.Pod.Name {
			t.Errorf("Pods %q and %q", first.placed.Pod.Name, p.placed.Pod.Name)
		}
		if err := p.get("/metrics"); err != nil {
			t.Error(err)
		}
		_ = p.Process.Signal(syscall.SIGTERM)
		<-p.ended
		if code := p.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d: %s", code, p.err)
		}
	}
	if err := k.Clean(t.Context(), "run-1"); err != nil { // what Jobs of several Pods leave
		t.Error(err)
	}
	if left := k.left("run-1"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A party that reaches its limit of memory: the stand-in says so.
func (k *onKindCluster) testMemory(t *testing.T) {
	s := k.spec(t, "hungry", "run-1")
	s.Limits["memory"] = "80Mi"
	p := stand(t, s)
	_, port, _ := net.SplitHostPort(p.said.Listen[0])
	for i := range 300 {
		noise := make([]byte, 1<<20) // the mock compresses
		_, _ = rand.Read(noise)
		body := `{"data":{"metadata":{"name":"x"},"spec":{"x":"` + base64.StdEncoding.EncodeToString(noise) + `"}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprintf("http://127.0.0.1:%s/bcsstorage/v1/k8s/dynamic/namespace_resources/clusters/c/namespaces/n/Pod/p-%d", port, i), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.client.Do(r)
		if err != nil {
			break
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusBadGateway {
			break
		}
	}
	k.lost(t, p, LostOOM)
}

// lost waits for the end of a stand-in that says why.
func (k *onKindCluster) lost(t *testing.T, p *standin, reason string) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("it did not end")
	}
	said := strings.Split(strings.TrimSpace(p.err.String()), "\n")
	if code := p.ProcessState.ExitCode(); code != ExitLost || !strings.HasPrefix(said[len(said)-1], reason+": Pod "+p.placed.Pod.Name+": ") {
		t.Errorf("exit code %d, last line %q", code, said[len(said)-1])
	}
	if left := k.left("run-1"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func (k *onKindCluster) testLost(t *testing.T, reason string, do func(pod string) error) {
	p := stand(t, k.spec(t, reason, "run-1"))
	if err := do(p.placed.Pod.Name); err != nil {
		t.Fatal(err)
	}
	k.lost(t, p, reason)
}

// Over a restart of the API server the party goes on, and its output is whole.
func (k *onKindCluster) testRestart(t *testing.T) {
	p := stand(t, k.spec(t, "steady", "run-1"))
	run(t, nil, "docker", "exec", k.node, "pkill", "-KILL", "kube-apiserver")
	answered := func() bool { return p.get("/metrics") == nil }
	if answered() {
		t.Error("the API server was not killed: the Pod answers through it")
	}
	for deadline := time.Now().Add(2 * time.Minute); !answered(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the Pod does not answer any more: %s", p.err)
		}
	}
	_ = p.Process.Signal(syscall.SIGTERM)
	<-p.ended
	if code := p.ProcessState.ExitCode(); code != 0 || strings.Count(p.err.String(), "msg=stopped") != 1 || strings.Count(p.out.String(), "\n") != 2 {
		t.Errorf("exit code %d, said %s\n%s", code, p.out, p.err)
	}
}

// After a runner and its stand-ins that were killed, the cluster has nothing of the run within five minutes.
func (k *onKindCluster) testKilled(t *testing.T) {
	p := stand(t, k.spec(t, "orphan", "run-2"))
	pending := k.spec(t, "pending", "run-2") // waits for a node as its stand-in is killed
	pending.Limits["cpu"] = "1000"
	if _, err := k.ensure(t.Context(), pending.job()); err != nil {
		t.Fatal(err)
	}
	_ = p.Process.Kill()
	killed := time.Now()
	var left []string
	for time.Since(killed) < 5*time.Minute {
		if left = k.left("run-2"); len(left) == 0 {
			t.Logf("nothing was left after %s", time.Since(killed).Round(time.Second))
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("left: %q", left)
}

// What keeps a cluster from running a party is one error within 30 s, of bad input, that names the remedy.
func (k *onKindCluster) testRefusals(t *testing.T) {
	core := k.client.CoreV1()
	for _, tc := range []struct {
		name, says, remedy string
		change             func(*Spec, *rest.Config)
	}{
		{"no namespace", `namespaces "nowhere" not found`, "--rbac", func(s *Spec, _ *rest.Config) { s.Namespace = "nowhere" }},
		{"no account", `serviceaccount "nobody" not found`, "--rbac", func(s *Spec, _ *rest.Config) { s.ServiceAccount = "nobody" }},
		{"no rights", `cannot create resource "jobs"`, "--rbac", func(_ *Spec, cfg *rest.Config) { cfg.Impersonate.UserName = "nobody" }},
		{"no image", "no-such-image:none", "kind load docker-image", func(s *Spec, _ *rest.Config) { s.Image = "localhost:1/no-such-image:none" }},
		{"no room", "Insufficient cpu", "--limits", func(s *Spec, _ *rest.Config) { s.Limits["cpu"] = "1000" }},
		{"quota", "exceeded quota: small", "ResourceQuota", func(*Spec, *rest.Config) {
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse("150Mi")}}}
			if _, err := core.ResourceQuotas(k.namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := k.spec(t, "try", "")
			s.Of, s.ServiceAccount = 2, AccountLoad
			cfg := rest.CopyConfig(k.cfg)
			tc.change(&s, cfg)
			begun := time.Now()
			at, err := NewPlace(cfg, s.Namespace)
			if err == nil {
				err = at.Preflight(t.Context(), s)
			}
			bad, ok := errors.AsType[*badinput.Error](err)
			if took := time.Since(begun); !ok || !strings.Contains(bad.Error(), tc.says) || !strings.Contains(bad.Remedy, tc.remedy) || took > 30*time.Second {
				t.Errorf("after %s: %v", took.Round(time.Second), err)
			}
			if left := k.left(""); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
	if err := core.ResourceQuotas(k.namespace).Delete(t.Context(), "small", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	s := k.spec(t, "try", "")
	s.ServiceAccount = AccountLoad
	if err := k.Preflight(t.Context(), s); err != nil {
		t.Errorf("a party that fits: %v", err)
	}
	other := *k.Place
	other.version = "another-version"
	err := other.Preflight(t.Context(), s)
	bad, ok := errors.AsType[*badinput.Error](err)
	if !ok || !strings.Contains(bad.Error(), s.Image) || !strings.Contains(bad.Error(), "another-version") || !strings.Contains(bad.Remedy, "make image") {
		t.Errorf("an image of another version: %v", err)
	}
	t.Log(err)
}
