package query_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
	"github.com/watchbench/watchbench/watcher/view"
)

var kubectlFlag = flag.Bool("kubectl", false, "run the tests with kubectl, building it where it is missing (about a minute after kube-apiserver)")

// asked of the apiserver and of the watcher, kubectl prints the same: only of Pods are there all columns.
var askedAlike = []string{
	"get pods", "get pods -A -l tier", "get pods -o name", "get pods -o json", "get pods -o yaml", "get po -l app=web", "get pods -l app!=web,tier", "get pods --show-labels -L app",
	"get pods --field-selector status.phase=Running", "get pods --field-selector spec.nodeName=query-1", "get pods --field-selector metadata.name=plain", "get pods --field-selector spec.nodeName=",
	"get pods --sort-by=.metadata.name", "get pods --chunk-size=1", "get pods --no-headers", "get pods -o custom-columns=N:.metadata.name,P:.status.phase", "get pods -o jsonpath={.items[*].metadata.name}",
	"get pod plain", "get pod/plain -o yaml", "get pods plain crashing", "get ns {ns} -o yaml",
	"events", "events --for pod/plain", "get sa default -o yaml",
	"get gd first -o yaml", "get deploy web -o yaml",
	"describe pod plain", "describe node query-1", "describe svc web", "describe gadget first", "describe cm settings",
	"get pod none", "get pod none --ignore-not-found", "get nothing", "get pods -l !!", "get pods -n none", "get nodes/none pod/plain",
	"get --raw /healthz", "get --raw /livez", "get --raw /readyz", "get --raw /api/v1/namespaces/{ns}/pods/none", "get --raw /api/v1/namespaces/{ns}/pods?labelSelector=!!", "get --raw /api/v1/pods?limit=x",
	"wait --for=condition=Ready pod/plain --timeout=5s", "wait --for=jsonpath={.status.phase}=Pending pod/new --timeout=5s", "wait --for=delete pod/none --timeout=5s", "wait --for=condition=Ready pod/new --timeout=1s",
	"rollout status deployment/web --timeout=5s",
}

// TestKubectlCannotTell whether it asks the apiserver or the watcher.
func TestKubectlCannotTell(t *testing.T) {
	if !*kubectlFlag {
		t.Skip("needs kubectl: make kubectl-test, or go test ./watcher/query -run TestKubectl -kubectl")
	}
	dir := must(controlplane.Ensure(t.Context(), controlplane.Options{Progress: func(line string) { t.Log(line) }}, controlplane.Kubectl))
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	served, _ := live(t, env.Config, view.Config{})
	apply(t, env.Config, served, ns, "testdata/kubectl.yaml")
	program := filepath.Join(dir, controlplane.Kubectl)
	actual := kubectl{program, t.TempDir(), ns, []string{"--kubeconfig", env.Kubeconfig}, env.Config.Host}
	ours := kubectl{program, t.TempDir(), ns, []string{"--server", served.Host, "--kubeconfig", os.DevNull}, served.Host}
	for _, args := range askedAlike {
		t.Run(args, func(t *testing.T) {
			if d := cmp.Diff(actual.run(t, args), ours.run(t, args)); d != "" {
				t.Errorf("(-apiserver +watcher):\n%s", d)
			}
		})
	}
	t.Run("api-resources", func(t *testing.T) { servedAlike(t, actual, ours) })
	t.Run("watch", func(t *testing.T) { watchedAlike(t, env.Config, actual, ours) })
	for args, want := range map[string]string{
		"delete pod new": "can only be read", "label pod new x=y": "can only be read", "logs new": "not find the requested resource", "get --raw /api/v1/secrets": "withholds",
		"get pods --field-selector spec.none=x": "supported are metadata.name",
	} {
		if out := ours.run(t, args); !strings.Contains(out, want) || strings.HasSuffix(out, "[0]\n") {
			t.Errorf("%s: want %q and another exit code than 0:\n%s", args, want, out)
		}
	}
}

// apply creates the objects of a file, gives them the status that it says, and waits until the watcher has them.
func apply(t *testing.T, upstream, served *rest.Config, ns, path string) {
	t.Helper()
	text := must(os.ReadFile(path))
	for docs := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(strings.ReplaceAll(string(text), "{ns}", ns)), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := docs.Decode(&o.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		create(t, upstream, served, ns, o)
	}
}

func create(t *testing.T, upstream, served *rest.Config, ns string, o *unstructured.Unstructured) {
	t.Helper()
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	in := func(c *rest.Config) dynamic.ResourceInterface {
		switch r := dynamic.NewForConfigOrDie(c).Resource(gvr); o.GetKind() {
		case "Node", "CustomResourceDefinition":
			return r
		default:
			return r.Namespace(ns)
		}
	}
	c, status := in(upstream), o.Object["status"]
	var made *unstructured.Unstructured
	within(t, o.GetName()+" is created", func() bool {
		var err error
		made, err = c.Create(t.Context(), o, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // a custom resource takes a moment to be served
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		return err == nil
	})
	if o.GetKind() == "Node" || o.GetKind() == "CustomResourceDefinition" {
		t.Cleanup(func() { _ = c.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
	}
	if status != nil {
		made.Object["status"] = status
		var err error
		if made, err = c.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	within(t, o.GetName()+" is served", func() bool {
		got, err := in(served).Get(t.Context(), o.GetName(), metav1.GetOptions{})
		return err == nil && (status == nil || got.GetResourceVersion() == made.GetResourceVersion())
	})
}

// kubectl is the program with a server to ask.
type kubectl struct {
	program, home, ns string
	where             []string
	host              string
}

func (k kubectl) command(ctx context.Context, args string) *exec.Cmd {
	all := slices.Concat(k.where, []string{"-n", k.ns}, strings.Fields(strings.ReplaceAll(args, "{ns}", k.ns)))
	cmd := exec.CommandContext(ctx, k.program, all...)
	cmd.Env = []string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run gives what kubectl prints, and its exit code, without what must differ.
func (k kubectl) run(t *testing.T, args string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := k.command(ctx, args)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return k.mask(fmt.Sprintf("%s%s[%d]\n", out.String(), errs.String(), cmd.ProcessState.ExitCode()))
}

var (
	ages   = regexp.MustCompile(`\b(\d+(y|d|h|m|s|ms))+\b`)
	spaces = regexp.MustCompile(` {2,}`)
)

// mask takes out addresses and ages, and the widths of columns that follow.
func (k kubectl) mask(text string) string {
	return spaces.ReplaceAllString(ages.ReplaceAllString(strings.ReplaceAll(text, k.host, "HOST"), "AGE"), "  ")
}

// servedAlike: all that the watcher serves is what the apiserver has, and it lacks only what
// cannot be listed or is withheld.
func servedAlike(t *testing.T, actual, ours kubectl) {
	for args, lacks := range map[string]string{"api-resources": "", "api-resources -o wide": "all", "api-versions": "authentication.k8s.io/v1 authorization.k8s.io/v1"} {
		want, got := strings.Split(actual.run(t, args), "\n"), strings.Split(ours.run(t, args), "\n")
		if lacks == "all" { // the verbs differ
			if len(got) < 20 || !strings.Contains(strings.Join(got, "\n"), "get,list,watch") {
				t.Errorf("%s: %q", args, got)
			}
			continue
		}
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("%s: the apiserver has no %q:\n%s", args, line, strings.Join(want, "\n"))
			}
		}
		for _, line := range want {
			name, _, _ := strings.Cut(line, " ")
			if !slices.Contains(got, line) && !strings.HasSuffix(name, "reviews") && name != "secrets" && name != "bindings" && name != "componentstatuses" && !strings.Contains(lacks, name) {
				t.Errorf("%s: the watcher has no %q", args, line)
			}
		}
	}
}

// watchedAlike has watches on both follow the same changes.
func watchedAlike(t *testing.T, upstream *rest.Config, sides ...kubectl) {
	pods := dynamic.NewForConfigOrDie(upstream).Resource(configMaps.GroupVersion().WithResource("pods")).Namespace(sides[0].ns)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := [][2]string{
		{"get pods -w", "crashing 0/1 Evicted"}, {"get po -w -l app=web --output-watch-events", "DELETED"}, {`get pods -w --field-selector spec.nodeName=query-1,metadata.name=crashing -o jsonpath={.metadata.name}:{.status.reason}{"\n"}`, "crashing:Evicted"}, {"get pod plain -w --output-watch-events", "DELETED"},
	}
	var all [][]*printing
	for _, w := range asked {
		var both []*printing
		for _, k := range sides {
			both = append(both, k.watch(ctx, t, w[0], w[1]))
		}
		all = append(all, both)
	}
	for _, both := range all {
		for _, p := range both {
			<-p.begun // the list is there, from which the watch goes on
		}
	}
	none := int64(0)
	for _, change := range []struct{ name, patch, sub string }{
		{"plain", `{"metadata":{"labels":{"app":"db"}}}`, ""}, {"plain", `{"metadata":{"labels":{"app":"web"}}}`, ""}, {"plain", "", ""}, {"crashing", `{"status":{"phase":"Failed","reason":"Evicted","containerStatuses":null}}`, "status"},
	} {
		var err error
		switch {
		case change.patch == "":
			err = pods.Delete(ctx, change.name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		case change.sub == "":
			_, err = pods.Patch(ctx, change.name, types.MergePatchType, []byte(change.patch), metav1.PatchOptions{})
		default:
			_, err = pods.Patch(ctx, change.name, types.MergePatchType, []byte(change.patch), metav1.PatchOptions{}, change.sub)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range asked {
		if d := cmp.Diff(<-all[i][0].lines, <-all[i][1].lines); d != "" {
			t.Errorf("%s (-apiserver +watcher):\n%s", w[0], d)
		}
	}
}

// printing is a kubectl that runs.
type printing struct {
	begun chan struct{} // closed at its first line, or its end
	lines chan string   // all of them, at its end
}

// watch runs kubectl until it prints a line that has last in it.
func (k kubectl) watch(ctx context.Context, t *testing.T, args, last string) *printing {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	cmd := k.command(ctx, args)
	out := must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &printing{make(chan struct{}), make(chan string, 1)}
	begin := sync.OnceFunc(func() { close(p.begun) })
	go func() {
		var all []string
		for in := bufio.NewScanner(out); in.Scan(); {
			begin()
			all = append(all, k.mask(in.Text()))
			if strings.Contains(spaces.ReplaceAllString(in.Text(), " "), last) {
				break
			}
		}
		begin()
		cancel()
		_ = cmd.Wait() // killed
		p.lines <- strings.Join(all, "\n")
	}()
	return p
}
