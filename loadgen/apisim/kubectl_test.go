package apisim_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

var kubectlFlag = flag.Bool("kubectl", false, "run the tests with kubectl, building it where it is missing (about a minute after kube-apiserver)")

// TestKubectlCannotTell asks the same of a real apiserver and of a simulated one with the
// same objects, and compares what kubectl prints.
func TestKubectlCannotTell(t *testing.T) {
	program := kubectlProgram(t)
	env := clustertest.Start(t)
	env.Config.WarningHandler = rest.NoWarnings{} // kubectl prints them
	ns := clustertest.Namespace(t, env.Config)
	resources := append(apisim.BuiltIn(), apisim.Resource{Group: "kubectl.test", Versions: []string{"v1"}, Name: "gadgets", Kind: "Gadget", Namespaced: true, Custom: true})
	s := newServer(t, apisim.Config{Resources: resources})
	m := &copying{t: t, s: s, ns: ns, client: dynamic.NewForConfigOrDie(env.Config), resources: resources}
	m.apply("testdata/kubectl.yaml")
	m.hold("held")
	m.all()
	actual := kubectl{program, t.TempDir(), ns, []string{"--kubeconfig", env.Kubeconfig}, env.Config.Host}
	simulated := kubectlOf(t, program, ns, s)
	for _, args := range kubectlArgs {
		t.Run(args, func(t *testing.T) {
			fields := strings.Fields(args)
			if d := cmp.Diff(actual.run(t, fields...), simulated.run(t, fields...)); d != "" {
				t.Errorf("(-real +simulated):\n%s", d)
			}
		})
	}
	t.Run("what is served", func(t *testing.T) { servedAlike(t, actual, simulated) })
	t.Run("watch", func(t *testing.T) { m.watchAlike(actual, simulated) })
}

// kubectlProgram is where kubectl is.
func kubectlProgram(t *testing.T) string {
	t.Helper()
	if !*kubectlFlag {
		t.Skip("needs kubectl: make kubectl-test, or go test ./loadgen/apisim -run TestKubectl -kubectl")
	}
	dir, err := controlplane.Ensure(t.Context(), controlplane.Options{Progress: func(line string) { t.Log(line) }}, controlplane.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, controlplane.Kubectl)
}

// kubectlOf has kubectl ask a simulated apiserver.
func kubectlOf(t *testing.T, program, ns string, s *apisim.Server) kubectl {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	return kubectl{program, t.TempDir(), ns, []string{"--server", srv.URL, "--kubeconfig", os.DevNull}, srv.URL}
}

// kubectlArgs are asked in the test's namespace.
var kubectlArgs = []string{
	"get pods -o name", "get pods -A -o name", "get pods -o json", "get pods -o yaml", "get po -l app=web -o name", "get pods -l app!=web,tier -o name",
	"get pods --field-selector status.phase=Running -o name", "get pods --field-selector spec.nodeName=node-1 -o name", "get pods --field-selector metadata.name=plain -o name",
	"get pods --sort-by=.metadata.name -o name", "get pods --chunk-size=1 -o name", "get pods -o custom-columns=N:.metadata.name,P:.status.phase",
	"get pods -o jsonpath={.items[*].metadata.name}", "get pod plain -o name", "get pod/plain -o yaml", "get pods plain crashing -o name", "get pod plain -o json --show-managed-fields",
	"get nodes -o yaml", "get pods,nodes -o name", "get all -o yaml", "get ns {ns} -o yaml", "get cm -o yaml", "get secrets -o yaml", "get svc -o yaml", "get ep -o yaml", "get endpointslices -o yaml", "get sa -o yaml",
	"get pv,pvc -o yaml", "get jobs,cj -o yaml", "get lease -o yaml", "get events -o yaml",
	"get events --field-selector involvedObject.name=plain,reason=Pulled -o name", "events", "events --for pod/plain", "get crd gadgets.kubectl.test -o name", "get gadgets -o yaml", "get gadget first -o yaml", "get gadgets.v1.kubectl.test -o name", "get deployments.v1.apps -o name",
	"describe pod plain", "describe node node-1", "describe deployment web", "describe svc web", "describe gadget first", "describe cm settings",
	"get pod none", "get pod none --ignore-not-found", "get nothing", "get pods --field-selector spec.none=x", "get pods -l !!", "get pods -n none", "get nodes/none pod/plain -o name",
	"get --raw /healthz", "get --raw /livez", "get --raw /readyz", "get --raw /none", "get --raw /api/v1/namespaces/{ns}/pods/none",
	"wait --for=condition=Ready pod/plain --timeout=5s", "wait --for=jsonpath={.status.phase}=Pending pod/new --timeout=5s", "rollout status deployment/web --timeout=5s", "rollout history deployment/web",
}

// kubectl is the program with an apiserver to ask.
type kubectl struct {
	program, home, ns string
	where             []string
	host              string
}

func (k kubectl) command(ctx context.Context, args ...string) *exec.Cmd {
	args = slices.Concat(k.where, []string{"-n", k.ns}, args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{ns}", k.ns)
	}
	cmd := exec.CommandContext(ctx, k.program, args...)
	cmd.Env = []string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run gives what kubectl prints, and its exit code, without what must differ.
func (k kubectl) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := k.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return k.mask(fmt.Sprintf("%s%s[%d]\n", out.String(), errs.String(), cmd.ProcessState.ExitCode()))
}

var (
	versions = regexp.MustCompile(`(resourceVersion"?: |Resource Version: +)"?\d+"?`)
	ages     = regexp.MustCompile(`\b(\d+(y|d|h|m|s|ms))+\b`)
	spaces   = regexp.MustCompile(` {2,}`)
)

// mask takes out versions, addresses and ages, and the widths of columns that follow.
func (k kubectl) mask(text string) string {
	text = strings.ReplaceAll(text, k.host, "HOST")
	return spaces.ReplaceAllString(ages.ReplaceAllString(versions.ReplaceAllString(text, `${1}N`), "AGE"), "  ")
}

// servedAlike compares what the simulated apiserver serves with the same of the real one,
// which serves more.
func servedAlike(t *testing.T, actual, simulated kubectl) {
	for _, args := range []string{"api-resources -o wide", "api-versions", "version"} {
		want, sim := actual.run(t, strings.Fields(args)...), simulated.run(t, strings.Fields(args)...)
		has := strings.Split(want, "\n")
		sim = strings.ReplaceAll(sim, "-apisim", "") // which the version says, lest somebody takes it for a real one
		if lines := strings.Split(sim, "\n"); len(lines) < 4 {
			t.Errorf("%s: %q", args, sim)
		}
		for line := range strings.SplitSeq(sim, "\n") {
			if !slices.Contains(has, line) {
				t.Errorf("%s: %q is not what a real apiserver has:\n%s", args, line, want)
			}
		}
	}
}

// TestKubectlIsRefused: what a simulated apiserver does not offer, it says.
func TestKubectlIsRefused(t *testing.T) {
	program := kubectlProgram(t)
	s := newServer(t, apisim.Config{})
	if _, err := s.Put("pods", []byte(`{"metadata":{"namespace":"a","name":"plain"},"spec":{"containers":[{"name":"main"}]}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put("deployments.apps", []byte(`{"metadata":{"namespace":"a","name":"web"},"spec":{"replicas":1}}`)); err != nil {
		t.Fatal(err)
	}
	k := kubectlOf(t, program, "a", s)
	for args, want := range map[string]string{
		"delete pod plain":                         "takes no writes",
		"label pod plain x=y":                      "takes no writes",
		"annotate pod plain x=y":                   "takes no writes",
		"apply -f testdata/pod.yaml":               "takes no writes",
		"apply --server-side -f testdata/pod.yaml": "takes no writes",
		"create -f testdata/pod.yaml":              "takes no writes",
		"run x --image=y":                          "takes no writes",
		"scale deployment web --replicas=2":        "takes no writes",
		"explain pods":                             "no schemas",
		"logs plain":                               "not find the requested resource",
		"exec plain -- true":                       "takes no writes",
	} {
		out := k.run(t, strings.Fields(args)...)
		if !strings.Contains(out, want) || strings.HasSuffix(out, "[0]\n") {
			t.Errorf("%s: want %q and another exit code than 0:\n%s", args, want, out)
		}
	}
}

// copying writes objects to a real apiserver and puts what it stored into a simulated one.
type copying struct {
	t         *testing.T
	s         *apisim.Server
	ns        string
	client    dynamic.Interface
	resources []apisim.Resource
}

// of is where objects of a resource are.
func (m *copying) of(r apisim.Resource) dynamic.ResourceInterface {
	c := m.client.Resource(schema.GroupVersionResource{Group: r.Group, Version: r.Versions[0], Resource: r.Name})
	if r.Namespaced {
		return c.Namespace(m.ns)
	}
	return c
}

// apply creates the objects of a file and gives them the status that it says.
func (m *copying) apply(path string) {
	m.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	for docs := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(strings.ReplaceAll(string(text), "{ns}", m.ns)), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := docs.Decode(&o.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			m.t.Fatal(err)
		}
		m.create(o)
	}
}

func (m *copying) create(o *unstructured.Unstructured) {
	t := m.t
	t.Helper()
	i := slices.IndexFunc(m.resources, func(r apisim.Resource) bool { return r.Kind == o.GetKind() })
	if i < 0 {
		t.Fatalf("no resource for %s", o.GetKind())
	}
	c := m.of(m.resources[i])
	status := o.Object["status"]
	var made *unstructured.Unstructured
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var err error
		if made, err = c.Create(t.Context(), o, metav1.CreateOptions{}); err == nil {
			break
		}
		if !apierrors.IsNotFound(err) || time.Now().After(deadline) { // a custom resource takes a moment to be served
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	if !m.resources[i].Namespaced {
		t.Cleanup(func() {
			if err := c.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	if status == nil {
		return
	}
	made.Object["status"] = status
	if _, err := c.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// hold deletes a pod that a finalizer keeps until the test has ended.
func (m *copying) hold(name string) {
	m.t.Helper()
	pods := m.of(apisim.Pods)
	if err := pods.Delete(m.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if _, err := pods.Patch(context.Background(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			m.t.Error(err)
		}
	})
}

// all puts everything that the real apiserver has into the simulated one.
func (m *copying) all() {
	m.t.Helper()
	for _, r := range m.resources {
		list, err := m.client.Resource(schema.GroupVersionResource{Group: r.Group, Version: r.Versions[0], Resource: r.Name}).List(m.t.Context(), metav1.ListOptions{})
		if err != nil {
			m.t.Fatalf("%s: %v", r.Key(), err)
		}
		for i := range list.Items {
			m.put(r, &list.Items[i])
		}
	}
}

func (m *copying) put(r apisim.Resource, o *unstructured.Unstructured) {
	m.t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.s.Put(r.Key(), text); err != nil {
		m.t.Fatal(err)
	}
}

// kubectlWatches are asked, too; each ends with a line that contains the second text.
var kubectlWatches = [][2]string{
	{"get pods -w -o name", "last"}, {"get po -w -l app=web -o name", "last"},
	{"get pods -w -o custom-columns=T:.type,N:.object.metadata.name,P:.object.status.phase --output-watch-events", "last"}, {"get pods -w --field-selector status.phase=Failed -o name", "last"},
}

// watchAlike has watches on both follow the same changes.
func (m *copying) watchAlike(sides ...kubectl) {
	t, pods := m.t, m.of(apisim.Pods)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all [][]*printing
	for _, w := range kubectlWatches {
		var both []*printing
		for _, k := range sides {
			both = append(both, start(ctx, t, k, w[0]))
		}
		all = append(all, both)
	}
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	change := func(name, text string, subresources ...string) {
		t.Helper()
		if _, err := pods.Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...); err != nil {
			t.Fatal(err)
		}
	}
	change("plain", `{"metadata":{"labels":{"app":"db"}}}`)
	change("plain", `{"metadata":{"labels":{"app":"web"}}}`)
	change("plain", `{"status":{"phase":"Failed","reason":"Evicted"}}`, "status")
	none := int64(0)
	if err := pods.Delete(ctx, "plain", metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	change("last", `{"status":{"phase":"Failed"}}`, "status")
	for name := ""; name != "last"; {
		e := <-changes.ResultChan()
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("the watch of the changes: %+v", e)
		}
		if name = o.GetName(); e.Type != apiwatch.Deleted {
			m.put(apisim.Pods, o)
		} else if _, err := m.s.Remove("pods", m.ns, name); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range kubectlWatches {
		if d := cmp.Diff(all[i][0].until(t, w[1]), all[i][1].until(t, w[1])); d != "" {
			t.Errorf("%s (-real +simulated):\n%s", w[0], d)
		}
	}
}

// printing is a kubectl that runs.
type printing struct {
	kubectl
	args string

	mu    sync.Mutex // guards what follows
	lines []string
}

// start runs kubectl until ctx ends, and returns when it has printed its list, from which
// its watch goes on.
func start(ctx context.Context, t *testing.T, k kubectl, args string) *printing {
	t.Helper()
	cmd := k.command(ctx, strings.Fields(args)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &printing{kubectl: k, args: args}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for in := bufio.NewScanner(out); in.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, in.Text())
			p.mu.Unlock()
		}
		_ = cmd.Wait() // killed
	}()
	t.Cleanup(func() { <-done })
	p.until(t, "")
	return p
}

// until waits for a last line that contains a text.
func (p *printing) until(t *testing.T, last string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		text, n := strings.Join(p.lines, "\n"), len(p.lines)
		p.mu.Unlock()
		if n > 0 && strings.Contains(text[strings.LastIndexByte(text, '\n')+1:], last) {
			return p.mask(text)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s prints no %q:\n%s", p.host, p.args, last, text)
		}
	}
}
