package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/loadgen/watchproxy"
	"github.com/watchbench/watchbench/watcher/collector"
)

const (
	quietObjects = 520 // more than a reflector's page
	churnTime    = 8 * time.Second
	// convergeWithin is client-go's longest pause between two attempts, with its
	// jitter, and time for a busy machine.
	convergeWithin = 75 * time.Second
)

// clusterFaults all fire in churnTime.
var clusterFaults = []string{
	"close(1s,3s)", "reset(1s,3s)", "silent(3s)", "no-bookmark", "no-stream",
	"410(start,max=3), close(1s)", "410(start,verb=stream,max=3)", "410(mid,max=3):20%", "error(max=3):20%", "truncate(max=3):20%", "unknown(max=3):20%", "junk(max=3):20%",
	"no-stream, 410(verb=list,max=1), 410(verb=page,max=1)", "older(60), close(2s)", "429(retry-after=1s,max=2), close(1s)", "503(max=2), close(1s)",
	"stall(1s), close(1s)", "blackhole(from=1s,verb=watch), close(2s)", "gone(3s,from=1s)", "reset(verb=list|stream,max=2)",
}

// TestCollectorAgainstRealApiserver puts one proxy per fault before the same real
// apiserver, a collector behind each, and changes objects: every fault fires, and
// afterwards every collector has what the apiserver has.
func TestCollectorAgainstRealApiserver(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	cs, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, cs, ns)
	var runs []*proxied
	for i, faults := range clusterFaults {
		runs = append(runs, startProxied(t, env.Config, ns, faults, i%2 == 1))
	}
	disturbCluster(t, cs, ns)
	for _, p := range runs {
		for _, f := range p.infos(http.MethodGet, "/faults") {
			if f.Fired == 0 {
				t.Errorf("%s: %s never fired", p.faults, f.Spec)
			}
		}
		if left := p.infos(http.MethodDelete, "/faults"); len(left) != 0 {
			t.Errorf("%s: %v left", p.faults, left)
		}
	}
	want := proxyList(t, cs, ns)
	healed := time.Now()
	for waiting := runs; len(waiting) > 0; time.Sleep(10 * time.Millisecond) {
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(p *proxied) bool {
			same := maps.Equal(want, p.mirror.snapshot())
			if same {
				t.Logf("%-50s converged %s after the faults", p.faults, time.Since(healed).Round(time.Millisecond))
			}
			return same
		})
		if time.Since(healed) > convergeWithin {
			for _, p := range waiting {
				t.Errorf("%s: no convergence (-apiserver +storage):\n%.2000s", p.faults, cmp.Diff(want, p.mirror.snapshot()))
			}
			break
		}
	}
	for _, p := range runs {
		if p.mirror.back > 0 && !strings.HasPrefix(p.faults, "older") {
			t.Errorf("%s: %d steps back, such as %s", p.faults, p.mirror.back, p.mirror.example)
		}
	}
}

// proxied is a collector behind a proxy.
type proxied struct {
	t      *testing.T
	faults string
	proxy  *watchproxy.Proxy
	mirror *mirror
}

func startProxied(t *testing.T, cfg *rest.Config, ns, faults string, withTLS bool) *proxied {
	t.Helper()
	c := watchproxy.DefaultConfig()
	c.Admin, c.TLS, c.Faults, c.Hold = "127.0.0.1:0", withTLS, faults, true
	proxy, err := watchproxy.New(c, watchproxy.Settings{REST: cfg})
	if err != nil {
		t.Fatal(err)
	}
	p := &proxied{t: t, faults: faults, proxy: proxy, mirror: newMirror()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proxy.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", faults, err)
		}
	})
	p.infos(http.MethodPost, "/start")
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := proxy.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	through, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	_, stop := collect(t, through, collector.Config{
		Namespace: ns, Resources: []collector.Resource{{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true}},
	}, p.mirror)
	t.Cleanup(stop)
	return p
}

// infos asks the admin API.
func (p *proxied) infos(method, path string) []faultlist.Info {
	p.t.Helper()
	req, err := http.NewRequest(method, "http://"+p.proxy.AdminAddr()+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	var infos []faultlist.Info
	if err != nil || json.Unmarshal(text, &infos) != nil {
		p.t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, text, err)
	}
	return infos
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
}

func fill(t *testing.T, cs kubernetes.Interface, ns string) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(20)
	for i := range quietObjects {
		group.Go(func() error {
			_, err := cs.CoreV1().ConfigMaps(ns).Create(ctx, configMap(fmt.Sprintf("quiet-%d", i), "x"), metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// disturbCluster changes objects at random, about 40 times a second.
func disturbCluster(t *testing.T, cs kubernetes.Interface, ns string) {
	t.Helper()
	maps := cs.CoreV1().ConfigMaps(ns)
	rng := rand.New(rand.NewPCG(3, 4))
	changes := 0
	for i, end := 0, time.Now().Add(churnTime); time.Now().Before(end); i++ {
		name := fmt.Sprintf("busy-%d", rng.IntN(30))
		var err error
		switch rng.IntN(4) {
		case 0:
			err = maps.Delete(t.Context(), name, metav1.DeleteOptions{})
		case 1:
			_, err = maps.Create(t.Context(), configMap(name, fmt.Sprint(i)), metav1.CreateOptions{})
		default:
			_, err = maps.Update(t.Context(), configMap(name, fmt.Sprint(i)), metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			changes++
		case !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err):
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d changes", changes)
}

func proxyList(t *testing.T, cs kubernetes.Interface, ns string) map[string]string {
	t.Helper()
	l, err := cs.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, o := range l.Items {
		all[o.Namespace+"/"+o.Name] = fmt.Sprintf("%s@%s", o.UID, o.ResourceVersion)
	}
	return all
}

// TestProxyWithoutFaults: what passes is what the apiserver has, and only who has
// the token is served.
func TestProxyWithoutFaults(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	p := startProxied(t, env.Config, ns, "", true)
	cs, err := kubernetes.NewForConfig(p.proxy.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cs.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("made", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err) // writes pass too
	}
	direct, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(proxyList(t, direct, ns), proxyList(t, cs, ns)); d != "" {
		t.Errorf("(-direct +proxied):\n%s", d)
	}
	if _, err := cs.Discovery().ServerPreferredResources(); err != nil {
		t.Error(err)
	}
	w, err := cs.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if cm, ok := e.Object.(*corev1.ConfigMap); ok && cm.Name == "made" {
			break
		}
	}
	for _, path := range []string{"", "/wrong"} {
		cfg := p.proxy.Config()
		cfg.Host = "https://" + p.proxy.Addr() + path
		stranger, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stranger.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
			t.Errorf("path %q: %v", path, err)
		}
	}
	if err := p.proxy.Run(t.Context()); err == nil {
		t.Error("a second Run was accepted")
	}
}
