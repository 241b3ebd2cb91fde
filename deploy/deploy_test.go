// Package deploy holds what runs k8s-watch in a cluster; only its tests are Go.
package deploy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	for _, dir := range []string{"k8s-watch", "overlays/demo"} {
		objects := render(t, dir)
		files := only[*corev1.ConfigMap](t, objects, "k8s-watch-config-").Data
		cfg, warnings, err := config.Parse("config.json", []byte(files["config.json"]))
		if err != nil || len(warnings) > 0 {
			t.Fatal(dir, warnings, err)
		}
		if _, warnings, err := config.ParseFilter("filter.json", []byte(files["filter.json"])); err != nil || len(warnings) > 0 {
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

// The ServiceMonitor finds the Service and a port of it.
func TestMonitoring(t *testing.T) {
	monitor := only[*unstructured.Unstructured](t, render(t, "components/monitoring"), "")
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
	if _, err := client.CoreV1().Pods("k8s-watch").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "unrestricted"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Fatalf("a Pod without restrictions: %v", err)
	}
	for _, name := range []string{"k8s-watch", "storagemock"} {
		d, err := client.AppsV1().Deployments("k8s-watch").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}, Spec: d.Spec.Template.Spec}
		if _, err := client.CoreV1().Pods("k8s-watch").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}
}
