// Package clustertest gives tests a real control plane, or a real ZooKeeper.
//
// A package whose tests need one shares it among them:
//
//	func TestMain(m *testing.M) { os.Exit(clustertest.Shared(m).Run()) }
//
// or, with a check for leaked goroutines after it has gone:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }
//
//	func TestX(t *testing.T) {
//		cfg := clustertest.Start(t).Config
//		ns := clustertest.Namespace(t, cfg)
//	}
//
// The control plane starts with the first test that asks for it and ends after the last; without Shared each test gets
// its own. It is never skipped, except under -short: missing binaries are made first, which can take minutes, once per
// machine.
package clustertest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/owned"
)

// Env is a running control plane.
type Env struct {
	*cluster.Cluster
	// Config has full rights and no client-side rate limit. It is the caller's own copy.
	Config *rest.Config
}

const downTimeout = 30 * time.Second

var shared struct {
	sync.Mutex // guards the fields below
	enabled    bool
	cluster    *cluster.Cluster
	err        error
}

// Runner is implemented by testing.M and goleak.TestingM.
type Runner interface{ Run() int }

// Shared wraps a testing.M: all tests that it runs share one control plane.
func Shared(m Runner) Runner { return sharedRunner{m} }

type sharedRunner struct{ m Runner }

func (r sharedRunner) Run() int {
	shared.Lock()
	shared.enabled = true
	shared.Unlock()
	code := r.m.Run()
	shared.Lock()
	defer shared.Unlock()
	shared.enabled = false
	if shared.cluster == nil {
		return code
	}
	if err := down(shared.cluster); err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		code = max(code, 1)
	}
	return code
}

// Start returns the shared control plane, or one of the test's own where the package has no Shared.
func Start(t testing.TB) *Env {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	c, err := obtain(t)
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatalf("use the control plane: %v", err)
	}
	return &Env{Cluster: c, Config: cfg}
}

func obtain(t testing.TB) (*cluster.Cluster, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.enabled {
		c, err := up(t)
		if err == nil {
			t.Cleanup(func() {
				if err := down(c); err != nil {
					t.Errorf("end the control plane: %v", err)
				}
			})
		}
		return c, err
	}
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = up(t)
	}
	return shared.cluster, shared.err
}

func up(t testing.TB) (*cluster.Cluster, error) {
	p, err := cluster.New(cluster.Embedded, cluster.Options{})
	if err != nil {
		return nil, err
	}
	// Not the test's context: it ends before the cleanups, and the control plane may be meant for later tests.
	return p.Up(context.Background(), func(line string) {
		t.Log(line)
		fmt.Fprintln(os.Stderr, "clustertest:", line) // at once, a build takes minutes
	})
}

func down(c *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), downTimeout)
	defer cancel()
	return c.Down(ctx)
}

// Namespace creates a namespace for the test and removes it, with what is in it, when the test has ended.
func Namespace(t testing.TB, cfg *rest.Config) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatalf("build a client: %v", err)
	}
	run := fmt.Sprintf("test-%d", time.Now().UnixNano())
	ns, err := client.CoreV1().Namespaces().Create(context.Background(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{owned.RunLabel: run}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), downTimeout)
		defer cancel()
		if err := owned.DeleteNamespace(ctx, cfg, ns.Name, run); err != nil {
			t.Errorf("remove the namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}
