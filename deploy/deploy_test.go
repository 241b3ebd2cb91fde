// Package deploy holds what runs k8s-watch in a cluster; only its tests are Go.
package deploy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
)

// kubectl runs it; without one the test is skipped.
func kubectl(t *testing.T, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("SKIPPED: there is no kubectl to render the manifests with")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// render decodes what kustomize makes of a folder, strictly.
func render(t *testing.T, dir string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(kubectl(t, "kustomize", dir))))
	var objects []runtime.Object
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := decoder.Decode(text, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			u := &unstructured.Unstructured{}
			err = yaml.UnmarshalStrict(text, &u.Object)
			o = u
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", dir, err, text)
		}
		objects = append(objects, o)
	}
}

// only is the one object of its type, by its name where there are several.
func only[T metav1.Object](t *testing.T, objects []runtime.Object, prefix string) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		if o, ok := o.(T); ok && strings.HasPrefix(o.GetName(), prefix) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T named %s", len(found), *new(T), prefix)
	}
	return found[0]
}

// What the manifests say in one place they say in the others, too.
func TestManifests(t *testing.T) {
	for dir, objects := range map[string][]runtime.Object{
		"k8s-watch": slices.Concat(render(t, "k8s-watch"), render(t, "rbac")), "overlays/demo": render(t, "overlays/demo"),
	} {
		files := only[*corev1.Secret](t, objects, "k8s-watch-config-").Data
		cfg, warnings, err := config.Parse("config.json", files["config.json"])
		if err != nil || len(warnings) > 0 {
			t.Fatal(dir, warnings, err)
		}
		if _, warnings, err := config.ParseFilter("filter.json", files["filter.json"]); err != nil || len(warnings) > 0 {
			t.Error(dir, warnings, err)
		}
		account := only[*corev1.ServiceAccount](t, objects, "")
		d := only[*appsv1.Deployment](t, objects, "k8s-watch")
		pod := d.Spec.Template.Spec
		c := pod.Containers[0]
		switch {
		case cfg.FilterConfigPath != c.VolumeMounts[0].MountPath+"/filter.json":
			t.Errorf("%s: the filter file %s is not mounted", dir, cfg.FilterConfigPath)
		case int32(cfg.Port) != c.Ports[0].ContainerPort || int32(cfg.MetricPort) != c.Ports[1].ContainerPort:
			t.Errorf("%s: ports %v, configured %d and %d", dir, c.Ports, cfg.Port, cfg.MetricPort)
		case !cfg.LeaderElection.Enabled || *d.Spec.Replicas < 2:
			t.Errorf("%s: no second replica, or no election", dir)
		case pod.ServiceAccountName != account.Name || d.Namespace != account.Namespace:
			t.Errorf("%s: the ServiceAccount is %s/%s", dir, account.Namespace, account.Name)
		case time.Duration(cfg.BCS.DrainTimeout) >= time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second:
			t.Errorf("%s: a drain of %s has only %d s", dir, time.Duration(cfg.BCS.DrainTimeout), *pod.TerminationGracePeriodSeconds)
		}
		if from := pod.Volumes[0].Secret.SecretName; from != only[*corev1.Secret](t, objects, "k8s-watch-config-").Name {
			t.Errorf("%s: the configuration is mounted from %s", dir, from)
		}
		if role := only[*rbacv1.Role](t, objects, ""); role.Namespace != cfg.LeaderElection.Namespace {
			t.Errorf("%s: the Lease is in %s, the Role in %s", dir, cfg.LeaderElection.Namespace, role.Namespace)
		} else if names := role.Rules[1].ResourceNames; !slices.Equal(names, []string{cfg.LeaderElection.Name}) {
			t.Errorf("%s: the Lease is %s, the Role is for %v", dir, cfg.LeaderElection.Name, names) // kustomize takes it for the ConfigMap of that name
		}
		for _, s := range [][]rbacv1.Subject{only[*rbacv1.RoleBinding](t, objects, "").Subjects, only[*rbacv1.ClusterRoleBinding](t, objects, "").Subjects} {
			if s[0].Name != account.Name || s[0].Namespace != account.Namespace {
				t.Errorf("%s: bound to %v", dir, s)
			}
		}
	}
}

// TestShards: the component has a replica and the rights for each shard that it speaks of.
func TestShards(t *testing.T) {
	dir, err := os.MkdirTemp("overlays", "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	text := "resources: [../../k8s-watch, ../../rbac]\ncomponents: [../../components/shards]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := render(t, dir)
	n := int(*only[*appsv1.Deployment](t, objects, "k8s-watch").Spec.Replicas)
	want := []string{"k8s-watch"}
	for i := range n {
		want = append(want, leader.ShardLease("k8s-watch", i), leader.MemberLease("k8s-watch", i))
	}
	rules := only[*rbacv1.Role](t, objects, "").Rules
	if n != 4 || !slices.Equal(rules[1].ResourceNames, want) || !slices.Equal(rules[0].Verbs, []string{"create", "list"}) {
		t.Errorf("%d replicas, rights %v", n, rules)
	}
}

// The overlay of docs/watcher.md can be built with roles of any kind: those for one
// namespace have no ClusterRole.
func TestOverlayOfTheDocs(t *testing.T) {
	docs, err := os.ReadFile("../docs/watcher.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(docs), "```\nresources: ")
	text, _, end := strings.Cut(text, "```")
	if !ok || !end {
		t.Fatal("docs/watcher.md shows no overlay")
	}
	dir, err := os.MkdirTemp("overlays", "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: " + text, "config.json": "{}", "filter.json": "{}",
		"rbac.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: k8s-watch, namespace: team-a}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects := render(t, dir)
	if role := only[*rbacv1.Role](t, objects, ""); role.Namespace != "team-a" {
		t.Errorf("the Role is in %s", role.Namespace)
	}
	if d := only[*appsv1.Deployment](t, objects, ""); d.Spec.Template.Spec.Containers[0].Image != "registry.example/k8s-watch:v1" {
		t.Errorf("the image is %s", d.Spec.Template.Spec.Containers[0].Image)
	}
	if s := only[*corev1.Secret](t, objects, "k8s-watch-config-"); string(s.Data["config.json"]) != "{}" {
		t.Errorf("the configuration is %s", s.Data["config.json"])
	}
}

// The demo beside a k8s-watch that works: nothing of the one has the name of something of
// the other, so that removing it harms nothing, and only k8s-watch reaches storagemock.
func TestDemoIsApart(t *testing.T) {
	names := map[string]bool{}
	id := func(o runtime.Object) string {
		m := o.(metav1.Object)
		return o.GetObjectKind().GroupVersionKind().Kind + "/" + m.GetNamespace() + "/" + m.GetName()
	}
	for _, o := range slices.Concat(render(t, "k8s-watch"), render(t, "rbac")) {
		names[id(o)] = true
	}
	objects := render(t, "overlays/demo")
	for _, o := range objects {
		if names[id(o)] {
			t.Errorf("both have %s", id(o))
		}
	}
	d, policy := only[*appsv1.Deployment](t, objects, "storagemock"), only[*networkingv1.NetworkPolicy](t, objects, "storagemock")
	if !maps.Equal(policy.Spec.PodSelector.MatchLabels, d.Spec.Template.Labels) {
		t.Errorf("the policy is for %v, the Pods have %v", policy.Spec.PodSelector.MatchLabels, d.Spec.Template.Labels)
	}
	watcher := only[*appsv1.Deployment](t, objects, "k8s-watch").Spec.Template.Labels
	rules := policy.Spec.Ingress
	if len(rules) != 1 || len(rules[0].From) != 1 || !maps.Equal(rules[0].From[0].PodSelector.MatchLabels, watcher) || len(rules[0].Ports) != 1 || rules[0].Ports[0].Port.String() != "storage" {
		t.Errorf("storagemock is open to %v", rules)
	}
	if ports := only[*corev1.Service](t, objects, "storagemock").Spec.Ports; len(ports) != 1 {
		t.Errorf("the Service has the ports %v", ports)
	}
}

// The ServiceMonitor finds the Service and a port of it.
func TestMonitoring(t *testing.T) {
	monitor := only[*unstructured.Unstructured](t, render(t, "components/monitoring"), "k8s-watch")
	service := only[*corev1.Service](t, render(t, "k8s-watch"), "")
	labels, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if !maps.Equal(labels, service.Labels) || monitor.GetNamespace() != service.Namespace {
		t.Errorf("it selects %v, the Service has %v", labels, service.Labels)
	}
	if len(endpoints) != 1 || endpoints[0].(map[string]any)["port"] != service.Spec.Ports[0].Name {
		t.Errorf("it reads %v, the Service has %v", endpoints, service.Spec.Ports)
	}
}

// A real apiserver takes every object, without an unknown field, and the Pods of the
// templates in a namespace with the restricted Pod Security level.
func TestManifestsOnAPIServer(t *testing.T) {
	env := clustertest.Start(t)
	kubectl(t, "--kubeconfig", env.Kubeconfig, "apply", "--validate=strict", "-k", "overlays/demo")
	client := kubernetes.NewForConfigOrDie(env.Config)
	if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "unrestricted"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Fatalf("a Pod without restrictions: %v", err)
	}
	for _, name := range []string{"k8s-watch-demo", "storagemock-demo"} {
		d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}, Spec: d.Spec.Template.Spec}
		if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}
}
