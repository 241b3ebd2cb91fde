package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

func needControlPlane(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts etcd and kube-apiserver, which -short leaves out")
	}
}

func newEmbeddedIn(t *testing.T, temp string, opts EmbeddedOptions) Provider {
	t.Helper()
	opts.Temp = temp
	p, err := New(Embedded, Options{Embedded: opts})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEmbeddedUpDown(t *testing.T) {
	needControlPlane(t)
	ctx, temp := t.Context(), t.TempDir()
	p := newEmbeddedIn(t, temp, EmbeddedOptions{APIServerFlags: map[string]string{"v": "1", "delete-collection-workers": ""}})
	var lines []string
	c, err := p.Up(ctx, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Down(context.Background()) })
	t.Log(strings.Join(lines, "\n"))

	minor := controlplane.KubernetesVersion()
	minor = minor[:strings.LastIndex(minor, ".")+1] // a downloaded one may have another patch
	if os.Getenv(EnvAssets) == "" && (!strings.HasPrefix(c.Version, minor) || c.EtcdVersion == "") {
		t.Errorf("versions %q and %q, want %s*", c.Version, c.EtcdVersion, minor)
	}
	if info, err := os.Stat(c.Kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v, want mode 0600", info, err)
	}
	apiFlags := strings.Join(c.Flags[apiserverParty], " ")
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(c.PIDs[apiserverParty]) + "/environ")
	if err == nil && (!strings.Contains(string(environ), "GOGC=400\x00") || !strings.Contains(apiFlags, " GOGC=400")) {
		t.Errorf("kube-apiserver runs in %q, the record says %s: want GOGC=400 in both", environ, apiFlags)
	}
	if !strings.Contains(apiFlags, "--v=1") || strings.Contains(apiFlags, "delete-collection-workers") || !strings.Contains(apiFlags, "--profiling=false") {
		t.Errorf("flags of kube-apiserver: %s; want v=1, the default profiling=false, and no delete-collection-workers", apiFlags)
	}
	if !strings.Contains(strings.Join(c.Flags[etcdParty], " "), "--unsafe-no-fsync=true") {
		t.Errorf("flags of etcd: %v, want unsafe-no-fsync", c.Flags[etcdParty])
	}
	for _, party := range []string{etcdParty, apiserverParty} {
		if !strings.Contains(commandLine(c.PIDs[party]), party) {
			t.Errorf("process %d is not %s", c.PIDs[party], party)
		}
	}
	if err := c.Check(ctx); err != nil {
		t.Errorf("check: %v", err)
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(cfg)
	// A pod can be created in "default" at once and bound to any node.
	_, err = client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// An open watch must not delay the end.
	w, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	started := time.Now()
	if err := c.Down(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("down took %s", took)
	} else {
		t.Logf("down in %s", took)
	}
	if err := c.Down(ctx); err != nil {
		t.Errorf("a second Down: %v", err)
	}
	if err := c.Check(ctx); err == nil {
		t.Error("check says that a cluster works which is down")
	}
	assertNothingLeft(t, temp)
}

// TestEmbeddedInParallel: two have nothing in common. One keeps its logs elsewhere and, with fsync, runs etcd without the
// flag that turns it off.
func TestEmbeddedInParallel(t *testing.T) {
	needControlPlane(t)
	ctx, temp, logs := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "logs")
	var clusters [2]*Cluster
	var errs [2]error
	var wg sync.WaitGroup
	for i := range clusters {
		opts := Options{Embedded: EmbeddedOptions{Temp: temp}}
		if i == 0 {
			opts.FSync, opts.Embedded.Logs = !inMemory(temp), logs
		}
		p, err := New(Embedded, opts)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { clusters[i], errs[i] = p.Up(ctx, nil) })
	}
	wg.Wait()
	for i, c := range clusters {
		if errs[i] != nil {
			t.Fatalf("cluster %d: %v", i, errs[i])
		}
		t.Cleanup(func() { _ = c.Down(context.Background()) })
		cfg, err := c.RESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		client := kubernetes.NewForConfigOrDie(cfg)
		// The same name twice works only if the two have nothing in common.
		_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "same"}}, metav1.CreateOptions{})
		if err != nil {
			t.Errorf("cluster %d: %v", i, err)
		}
		args := commandLine(c.PIDs[etcdParty])
		if fsync := i == 0 && !inMemory(temp); !strings.Contains(args, "--quota-backend-bytes") || strings.Contains(args, "no-fsync") == fsync {
			t.Errorf("etcd runs as %s, with fsync %t", args, fsync)
		}
		if err := c.Down(ctx); err != nil {
			t.Error(err)
		}
	}
	assertNothingLeft(t, temp)
	data, err := os.ReadFile(clusters[0].Logs[apiserverParty])
	if err != nil || filepath.Dir(clusters[0].Logs[apiserverParty]) != logs || len(data) == 0 {
		t.Errorf("log of kube-apiserver at %s: %d bytes, %v", clusters[0].Logs[apiserverParty], len(data), err)
	}
}

func TestEmbeddedCancelled(t *testing.T) {
	needControlPlane(t)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 400 * time.Millisecond, 1200 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			temp := t.TempDir()
			reason := errors.New("interrupted by the test")
			ctx, cancel := context.WithCancelCause(t.Context())
			started := time.Now()
			_, err := newEmbeddedIn(t, temp, EmbeddedOptions{}).Up(ctx, func(line string) {
				if strings.HasPrefix(line, "starting etcd") {
					time.AfterFunc(after, func() { cancel(reason) })
				}
			})
			if !errors.Is(err, reason) {
				t.Errorf("got error %v, want the reason of the cancellation", err)
			}
			if took := time.Since(started); took > after+3*time.Second {
				t.Errorf("Up returned %s after it was cancelled", took-after)
			}
			assertNothingLeft(t, temp)
		})
	}
}

func TestEmbeddedStartFails(t *testing.T) {
	needControlPlane(t)
	for _, tc := range []struct {
		name string
		opts EmbeddedOptions
		want string
	}{
		{"apiserver flag", EmbeddedOptions{APIServerFlags: map[string]string{"no-such-flag": "1"}}, "unknown flag: --no-such-flag"},
		{"etcd flag", EmbeddedOptions{EtcdFlags: map[string]string{"no-such-flag": "1"}}, "no-such-flag"},
		{"too slow", EmbeddedOptions{StartTimeout: 200 * time.Millisecond}, "timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			temp := t.TempDir()
			_, err := newEmbeddedIn(t, temp, tc.opts).Up(t.Context(), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one that contains %q", err, tc.want)
			}
			assertNothingLeft(t, temp)
		})
	}
}

func TestEmbeddedPortTaken(t *testing.T) {
	needControlPlane(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	temp := t.TempDir()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	var again int
	_, err = newEmbeddedIn(t, temp, EmbeddedOptions{
		APIServerFlags: map[string]string{"secure-port": port}, StartTimeout: 20 * time.Second,
	}).Up(t.Context(), func(line string) {
		if strings.Contains(line, "port was taken") {
			again++
		}
	})
	if !errors.Is(err, errPortTaken) || again != portAttempts-1 {
		t.Errorf("got %d repetitions and error %v, want %d and that the port is taken", again, err, portAttempts-1)
	}
	assertNothingLeft(t, temp)
}

// TestEmbeddedParentKilled is about the watchdog: nobody calls Down.
func TestEmbeddedParentKilled(t *testing.T) {
	needControlPlane(t)
	temp := t.TempDir()
	cmd, c := startHelper(t, helperOptions{Provider: Embedded, Options: Options{Embedded: EmbeddedOptions{Temp: temp}}, Stay: true})
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, 15*time.Second, "the control plane of a killed process goes away", func() bool {
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0 && len(processesNaming(t, c.Dir)) == 0
	})
}

func TestEmbeddedDetached(t *testing.T) {
	needControlPlane(t)
	ctx := t.Context()
	// The binaries must not be built into the test's cache.
	assets := os.Getenv(EnvAssets)
	if assets == "" {
		var err error
		if assets, err = controlplane.Ensure(ctx, controlplane.Options{}, controlplane.Etcd, controlplane.APIServer); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(EnvAssets, assets)
	opts := Options{Embedded: EmbeddedOptions{Cache: t.TempDir(), Detach: true}}
	if _, err := Existing(opts.Embedded); !errors.Is(err, ErrNotUp) {
		t.Fatalf("before it is up: got error %v, want ErrNotUp", err)
	}
	cmd, _ := startHelper(t, helperOptions{Provider: Embedded, Options: opts})
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	c, err := Existing(opts.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Down(context.Background()) })
	if err := c.Check(ctx); err != nil {
		t.Errorf("after the process that brought it up has ended: %v", err)
	}
	p, err := New(Embedded, opts)
	if err != nil {
		t.Fatal(err)
	}
	var input *badinput.Error
	if _, err := p.Up(ctx, nil); !errors.As(err, &input) || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second one: got error %v, want an badinput.Error that says that one is up already", err)
	}
	if err := c.Down(ctx); err != nil {
		t.Fatal(err)
	}
	if left := processesNaming(t, c.Dir); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
	if _, err := Existing(opts.Embedded); !errors.Is(err, ErrNotUp) {
		t.Errorf("after Down: got error %v, want ErrNotUp", err)
	}
}
