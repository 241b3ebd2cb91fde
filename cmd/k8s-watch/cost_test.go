package main

// What the watcher costs as a process, in front of an apiserver and a storage that live in the test: faster than a control
// plane on the same machine, so that rates are possible which that cannot write. Memory is judged by absolute limits, CPU
// of steady changes by the ratio to that of watchfloor, which takes the same events at the same time:
//
//	go test ./cmd/k8s-watch -cost -v

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/storagemock"
)

var (
	costFlag = flag.Bool("cost", false, "measure; the machine should have nothing else to do")
	rateFlag = flag.Int("rate", 0, "measure this rate only, in changes per second")
)

const pods = 10_000

// bench is an apiserver with Pods of 3 KiB.
type bench struct {
	t   *testing.T
	api *apisim.Server
	dir string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if !*costFlag {
		t.Skip("asked for with -cost")
	}
	api, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods, apisim.Namespaces}, Window: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, api: api, dir: t.TempDir()}
	if _, err := api.Apply(apisim.Namespaces.Key(), []byte(`{"metadata":{"name":"a"}}`)); err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		b.change(i, 0)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", b.dir+"/", "./cmd/k8s-watch", "./cmd/watchfloor")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := httptest.NewTLSServer(api)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	b.write("kubeconfig", map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server.URL, "certificate-authority-data": ca}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "t"}}},
	})
	b.write("filter.json", map[string]any{
		"k8sResourceWhiteList":     []string{"v1"},
		"apiResourceSpecification": []any{map[string]any{"groupVersion": "v1", "resourceKinds": []string{"Pod"}}},
	})
	return b
}

// change writes a version of Pod i.
func (b *bench) change(i, version int) {
	b.t.Helper()
	object := fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"pod-%d","labels":{"app":"web"},"annotations":{"version":"%d"}},"spec":{"env":%q}}`,
		i, version, strings.Repeat(fmt.Sprintf("setting-%d=value ", i), 150))
	if _, err := b.api.Apply(apisim.Pods.Key(), object); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) write(name string, v any) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

// party is a program with a storage of its own.
type party struct {
	name  string
	mock  *storagemock.Server
	usage *procstat.Process
}

// start runs a program that copies the cluster, and waits until all of it has arrived.
func (b *bench) start(name, program string, queues int, env ...string) *party {
	t := b.t
	t.Helper()
	mc := storagemock.DefaultConfig()
	mc.Latency = "20ms"
	mock, err := storagemock.New(mc, storagemock.Settings{Registry: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- mock.Run(ctx) }()
	port, metrics := freePort(t), freePort(t)
	config := b.write(name+".json", map[string]any{
		"default":        map[string]any{"clusterID": "BCS-K8S-00001"},
		"watch_resource": map[string]any{"disable_netservice": true, "disable_crd": true},
		"bcs":            map[string]any{"custom-storage-endpoints": "http://" + mock.Addrs()[0], "podQueueNum": queues},
		"k8s":            map[string]any{"kubeconfig": filepath.Join(b.dir, "kubeconfig")}, "filterConfigPath": filepath.Join(b.dir, "filter.json"),
		"address": "127.0.0.1", "port": port, "metric_port": metrics, "synchronizer": map[string]any{"disabled": true},
	})
	cmd := exec.Command(filepath.Join(b.dir, program), "-f", config)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	p := &party{name: name, mock: mock}
	if p.usage, err = procstat.Open(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	p.arrived(t, pods)
	return p
}

func (p *party) written() int { return int(p.mock.Ledger().Len()) }

// arrived waits until so many writes of Pods have arrived.
func (p *party) arrived(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); p.written() < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %d of %d writes arrived", p.name, p.written(), n)
		}
	}
}

func (p *party) used(t *testing.T) procstat.Usage {
	t.Helper()
	u, err := p.usage.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// TestFirstList: 10,000 Pods of 3 KiB cached and sent.
func TestFirstList(t *testing.T) {
	b := newBench(t)
	p := b.start("watcher", "k8s-watch", 0)
	time.Sleep(5 * time.Second)
	u := p.used(t)
	const mib = 1 << 20
	t.Logf("%d Pods: %.1f MiB, %.1f MiB at most, %s CPU", pods, float64(u.RSS)/mib, float64(u.RSSHighest)/mib, u.CPU)
	if u.RSS > 32*mib || u.RSSHighest > 60*mib || u.CPU > 600*time.Millisecond {
		t.Errorf("want at most 32 MiB, 60 MiB and 0.6 s")
	}
}

// TestCostOfChanges: CPU per change of a steady rate, in the same time as the floor's.
func TestCostOfChanges(t *testing.T) {
	b := newBench(t)
	floor := b.start("floor", "watchfloor", 30)
	watchers := []*party{b.start("default", "k8s-watch", 0)}
	for _, n := range []string{"1", "2"} {
		watchers = append(watchers, b.start("GOMAXPROCS="+n, "k8s-watch", 0, "GOMAXPROCS="+n))
	}
	all := append([]*party{floor}, watchers...)
	for _, x := range []struct {
		rate  int
		times float64
	}{{150, 2}, {300, 2}, {1000, 1.5}} {
		if *rateFlag != 0 && x.rate != *rateFlag {
			continue
		}
		const span = 10 * time.Second
		changes := x.rate * int(span/time.Second)
		var before []procstat.Usage
		var have []int
		for _, p := range all {
			before, have = append(before, p.used(t)), append(have, p.written())
		}
		began := time.Now()
		for i := range changes {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(x.rate))))
			b.change(i%pods, i+x.rate)
		}
		if late := time.Since(began) - span; late > span/20 {
			t.Errorf("%d/s: the changes took %s longer", x.rate, late)
		}
		for i, p := range all {
			p.arrived(t, have[i]+changes)
		}
		per := make([]float64, len(all))
		for i, p := range all {
			per[i] = float64((p.used(t).CPU - before[i].CPU).Microseconds()) / float64(changes)
			t.Logf("%d/s: %s %.0f µs per change, %.2f × floor", x.rate, p.name, per[i], per[i]/per[0])
		}
		if per[1] > x.times*per[0] {
			t.Errorf("%d/s: %.2f × floor, want at most %.1f", x.rate, per[1]/per[0], x.times)
		}
	}
}
