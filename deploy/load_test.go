package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// operator is the version of k6-operator whose form the TestRun has.
const operator = "github.com/grafana/k6-operator@v1.6.0"

// operatorDir is the operator's source: K6_OPERATOR, or its Go module. Without either the test is skipped.
func operatorDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("K6_OPERATOR"); dir != "" {
		return dir
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", operator).Output()
	var module struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &module); err != nil || jerr != nil || module.Dir == "" {
		t.Skipf("SKIPPED: no source of %s (set K6_OPERATOR to a checkout): %v %s", operator, errors.Join(err, jerr), module.Error)
	}
	return module.Dir
}

func strictly[T any](t *testing.T, path string) *T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	into := new(T)
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return into
}

// TestTestRunHasTheOperatorsForm: an API server with the operator's definition takes the TestRun, and knows each field.
func TestTestRunHasTheOperatorsForm(t *testing.T) {
	definition := strictly[map[string]any](t, filepath.Join(operatorDir(t), "config", "crd", "bases", "k6.io_testruns.yaml"))
	client := dynamic.NewForConfigOrDie(clustertest.Start(t).Config)
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	made, err := definitions.Create(t.Context(), &unstructured.Unstructured{Object: *definition}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), made.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	runs := client.Resource(schema.GroupVersionResource{Group: "k6.io", Version: "v1alpha1", Resource: "testruns"}).Namespace("default")
	strict := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	for ctx, cancel := context.WithTimeout(t.Context(), time.Minute); ; {
		defer cancel()
		if _, err = runs.List(ctx, metav1.ListOptions{}); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	run := func(change func(spec map[string]any)) error {
		r := &unstructured.Unstructured{Object: *strictly[map[string]any](t, "load/testrun.yaml")}
		change(r.Object["spec"].(map[string]any))
		_, err := runs.Create(t.Context(), r, strict)
		return err
	}
	if err := run(func(map[string]any) {}); err != nil {
		t.Error(err)
	}
	// The definition is there and is held to.
	for name, change := range map[string]func(map[string]any){
		"a field that is not there": func(s map[string]any) { s["parallel"] = 4 },
		"one of the runner":         func(s map[string]any) { s["runner"].(map[string]any)["serviceAccount"] = "x" },
		"a wrong type":              func(s map[string]any) { s["parallelism"] = "four" },
	} {
		if err := run(change); !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testRun is what the operator makes pods of.
type testRun struct {
	Spec struct {
		Parallelism int
		Runner      pod
		Starter     pod
	}
}

type pod struct {
	Image                    string
	ServiceAccountName       string
	SecurityContext          *corev1.PodSecurityContext
	ContainerSecurityContext *corev1.SecurityContext
	Env                      []corev1.EnvVar
	Volumes                  []corev1.Volume
	VolumeMounts             []corev1.VolumeMount
	Resources                corev1.ResourceRequirements
}

// TestLoadIsRestricted: the restricted Pod Security standard admits the pods of the TestRun.
func TestLoadIsRestricted(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	ns := clustertest.Namespace(t, env.Config)
	label := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := client.CoreV1().Namespaces().Patch(t.Context(), ns, "application/merge-patch+json", label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("load/testrun.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var run testRun
	if err := yaml.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	admit := func(p pod) error {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "runner-"}, Spec: corev1.PodSpec{
			SecurityContext: p.SecurityContext, Volumes: p.Volumes, AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{Name: "k6", Image: "k6", SecurityContext: p.ContainerSecurityContext, Env: p.Env,
				VolumeMounts: p.VolumeMounts, Resources: p.Resources}},
		}}
		_, err := client.CoreV1().Pods(ns).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	for name, p := range map[string]pod{"runner": run.Spec.Runner, "starter": run.Spec.Starter} {
		if err := admit(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.ContainerSecurityContext = nil
		if err := admit(p); !apierrors.IsForbidden(err) {
			t.Errorf("%s without its security context: %v", name, err)
		}
	}
	if run.Spec.Parallelism != 4 || run.Spec.Runner.ServiceAccountName == "" {
		t.Errorf("%+v", run.Spec)
	}
}

// TestLoadHasTheRights: with the rights of the runners' ServiceAccount and no others, all shards of the plan are sent
// and everything is removed.
func TestLoadHasTheRights(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	text, err := os.ReadFile("load/resources.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(part, &kind); err != nil {
			t.Fatal(err)
		}
		into := map[string]runtime.Object{"ClusterRole": &role, "ClusterRoleBinding": &binding}[kind.Kind]
		if into == nil {
			continue
		}
		if err := yaml.UnmarshalStrict(part, into); err != nil {
			t.Fatal(err)
		}
	}
	// Of a cluster without controllers the generator finalizes the namespaces, too.
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces/finalize"}, Verbs: []string{"update"}})
	roles, bindings := client.RbacV1().ClusterRoles(), client.RbacV1().ClusterRoleBindings()
	_, err1 := roles.Create(t.Context(), &role, metav1.CreateOptions{})
	_, err2 := bindings.Create(t.Context(), &binding, metav1.CreateOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(roles.Delete(ctx, role.Name, metav1.DeleteOptions{}), bindings.Delete(ctx, binding.Name, metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	runner := rest.CopyConfig(env.Config)
	runner.Impersonate.UserName = "system:serviceaccount:" + binding.Subjects[0].Namespace + ":" + binding.Subjects[0].Name

	cfg, err := plan.ReadFile("load/plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Rate, cfg.Duration, cfg.Namespaces = 30, units.Duration(2*time.Second), 2
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const n = 2
	done := make(chan error, n)
	for i := range n {
		log, err := oplog.Create(filepath.Join(t.TempDir(), "ops"))
		if err != nil {
			t.Fatal(err)
		}
		engine, err := churn.New(p.Part(plan.Shard{Index: i + 1, Of: n}), churn.Settings{REST: runner, Log: log, Meet: true})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer engine.Close()
			err := churn.NewSession(engine, cfg, churn.SessionSettings{Out: io.Discard, Log: log}).Run(t.Context())
			if s := engine.Progress(); s.FirstError != "" || s.Done == 0 {
				err = errors.Join(err, errors.New("first error: "+s.FirstError))
			}
			done <- errors.Join(err, log.Close())
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	left, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + cfg.RunID})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d namespaces are left, %v", len(left.Items), err)
	}
}
