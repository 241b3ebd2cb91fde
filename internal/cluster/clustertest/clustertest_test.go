package clustertest_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/cluster/owned"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }

func TestTestsShareOneControlPlane(t *testing.T) {
	first, second := clustertest.Start(t), clustertest.Start(t)
	if first.Cluster != second.Cluster {
		t.Fatalf("two starts gave two control planes: %s and %s", first.Dir, second.Dir)
	}
	if first.Config == second.Config {
		t.Fatal("both got the same client configuration, so one test can change another's")
	}
}

func TestNamespaceIsEmptiedAndRemoved(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	var name string
	t.Run("inner", func(t *testing.T) {
		name = clustertest.Namespace(t, env.Config)
		_, err := client.CoreV1().ConfigMaps(name).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "left"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().Pods(name).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "left"},
			// Bound to a node, so that a deletion with a grace period would wait for a kubelet.
			Spec: corev1.PodSpec{NodeName: "none", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	})
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s after its test: got error %v, want not found", name, err)
	}
	if _, err := client.CoreV1().ConfigMaps(name).Get(t.Context(), "left", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("config map after its namespace has gone: got error %v, want not found", err)
	}
	if _, err := client.CoreV1().Pods(name).Get(t.Context(), "left", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("pod after its namespace has gone: got error %v, want not found", err)
	}
}

func TestDeleteNamespaceRefusesForeignOnes(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	mine := clustertest.Namespace(t, env.Config)
	for _, tc := range []struct{ name, namespace, run string }{
		{"no label", "default", "r"},
		{"another run's", mine, "r"},
		{"no run", "default", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := owned.DeleteNamespace(t.Context(), env.Config, tc.namespace, tc.run)
			var foreign *owned.ForeignError
			if !errors.As(err, &foreign) {
				t.Fatalf("got error %v, want a ForeignError", err)
			}
			ns, err := client.CoreV1().Namespaces().Get(context.Background(), tc.namespace, metav1.GetOptions{})
			if err != nil || ns.DeletionTimestamp != nil {
				t.Fatalf("the namespace was touched: %v, %v", ns.DeletionTimestamp, err)
			}
		})
	}
	if err := owned.DeleteNamespace(t.Context(), env.Config, "not-there", "r"); err != nil {
		t.Errorf("delete a namespace that does not exist: %v", err)
	}
}
