package dashboards

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

type object = map[string]any

// cell is one cluster: a simulated apiserver in this process, a storagemock, and a k8s-watch.
type cell struct {
	objects  string // address at which the resource watcher is asked
	name     string // cluster_id
	dir, bin string
	sim      *apisim.Server
	api      *httptest.Server
	leases   *lessor
	admin    string // URL of the mock
	watchers []*replica
}

// replica is a k8s-watch whose address outlives its process.
type replica struct {
	config  string
	metrics string // host:port
	cmd     *exec.Cmd
}

// objects that the load writes in turn.
const objects = 300

// launch starts the processes. bcs are keys beyond the defaults.
func launch(t *testing.T, bin, name string, bcs object, replicas, shards int) *cell {
	t.Helper()
	c := &cell{name: name, dir: t.TempDir(), bin: bin}
	var err error
	c.sim, err = apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps, apisim.Pods, apisim.Events,
		{Group: "coordination.k8s.io", Versions: []string{"v1"}, Name: "leases", Kind: "Lease", Namespaced: true}}})
	check(t, err)
	for i := range objects {
		c.write(t, i, 0)
	}
	c.leases = &lessor{Handler: c.sim}
	c.api = httptest.NewServer(c.leases)
	t.Cleanup(func() { c.api.CloseClientConnections(); c.api.Close() })
	mock := start(t, filepath.Join(bin, "storagemock"), filepath.Join(c.dir, "mock.log"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--latency", "2ms")
	line := struct {
		Listen []string
		Admin  string
	}{}
	check(t, json.NewDecoder(mock).Decode(&line))
	c.admin = "http://" + line.Admin
	all := object{"custom-storage-endpoints": "http://" + line.Listen[0], "maxInFlight": 4, "podQueueNum": 4, "storageTimeout": "5s", "zk": "127.0.0.1:1"}
	maps.Copy(all, bcs)
	filter := filepath.Join(c.dir, "filter.json")
	check(t, os.WriteFile(filter, []byte(`{"k8sResourceWhiteList":["v1"]}`), 0o600))
	people := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(people.Close)
	for i := range replicas {
		ports := freePorts(t, 3)
		b, err := json.Marshal(object{
			"default": object{"clusterID": name}, "watch_resource": object{"disable_netservice": true, "disable_crd": true}, "bcs": all,
			"synchronizer": object{"period": "10s"}, "leaderElection": object{"enabled": replicas > 1}, "shards": shards,
			"k8s": object{"master": c.api.URL}, "filterConfigPath": filter, "address": "127.0.0.1", "port": ports[0], "metric_port": ports[1],
			// One process exports what reads and subscriptions do; see query.
			"resourceWatcher": object{"enabled": name == noFault, "server": object{"port": ports[2]}, "notify": object{"subscriptions": []object{{
				"name": "maps", "resource": "v1/configmaps",
				"target": object{"webhook": object{"url": people.URL, "allow": []string{"127.0.0.0/8"}}},
			}}}},
		})
		check(t, err)
		c.objects = fmt.Sprintf("http://127.0.0.1:%d/api/v1/configmaps?limit=1", ports[2])
		r := &replica{config: filepath.Join(c.dir, fmt.Sprintf("config-%d.json", i)), metrics: "127.0.0.1:" + strconv.Itoa(ports[1])}
		check(t, os.WriteFile(r.config, b, 0o600))
		c.watchers = append(c.watchers, r)
		c.run(t, r)
	}
	return c
}

// write changes one object of the load; with a size it has that much that does not compress.
func (c *cell) write(t *testing.T, i, size int) {
	name, text := fmt.Sprintf("map-%d", i), make([]byte, 0, size)
	for x := uint64(i)*2654435761 + uint64(time.Now().UnixNano()); len(text) < size; x = x*6364136223846793005 + 1442695040888963407 {
		text = strconv.AppendUint(text, x>>20, 36)
	}
	if size > 0 {
		name = "large-" + name
	}
	_, err := c.sim.Apply(apisim.ConfigMaps.Key(), fmt.Appendf(nil, `{"metadata":{"namespace":"default","name":%q},"data":{"at":"%d","text":%q}}`, name, time.Now().UnixNano(), text))
	note(t, err)
}

// warn makes the apiserver say that an owned Pod fails, which becomes an alert.
func (c *cell) warn(t *testing.T, i int) {
	_, err := c.sim.Apply(apisim.Pods.Key(), fmt.Appendf(nil, `{"metadata":{"namespace":"default","name":"web","annotations":{"n":"%d"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u","controller":true}]},"spec":{}}`, i))
	note(t, err)
	now := time.Now().UTC().Format(time.RFC3339)
	_, err = c.sim.Apply(apisim.Events.Key(), fmt.Appendf(nil, `{"metadata":{"namespace":"default","name":"web.%d"},"involvedObject":{"kind":"Pod","namespace":"default","name":"web"},"type":"Warning","reason":"BackOff","message":"m","firstTimestamp":%q,"lastTimestamp":%q}`, i%20, now, now))
	note(t, err)
}

// query reads from the resource watcher where it is on. What it answers is its own tests' matter.
func (c *cell) query() {
	if c.name != noFault {
		return
	}
	if resp, err := http.Get(c.objects); err == nil {
		_ = resp.Body.Close()
	}
}

// run starts a replica's process, again if it ended.
func (c *cell) run(t *testing.T, r *replica) {
	log, err := os.OpenFile(r.config+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	note(t, err)
	r.cmd = exec.CommandContext(t.Context(), filepath.Join(c.bin, "k8s-watch"), "-f", r.config) //nolint:gosec // built by this test
	r.cmd.Stdout, r.cmd.Stderr = log, log
	note(t, r.cmd.Start())
}

// end stops a replica and waits for its end.
func (r *replica) end(s syscall.Signal) {
	_ = r.cmd.Process.Signal(s)
	_ = r.cmd.Wait()
}

// faults sets faults of the mock, or with none ends all.
func (c *cell) faults(t *testing.T, text string) {
	method := http.MethodPost
	if text == "" {
		method = http.MethodDelete
	}
	c.ask(t, method, "/faults", text)
}

// lose deletes records of the mock behind the watcher's back.
func (c *cell) lose(t *testing.T, n int) {
	for i := range n {
		c.ask(t, http.MethodDelete, fmt.Sprintf("/state?cluster=%s&kind=ConfigMap&namespace=default&name=map-%d", c.name, i), "")
	}
}

func (c *cell) ask(t *testing.T, method, path, body string) {
	req, err := http.NewRequestWithContext(t.Context(), method, c.admin+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %s", method, path, res.Status)
	}
}

// lessor stands before an apiserver that does not answer for some Leases.
type lessor struct {
	http.Handler
	away atomic.Value // string: those whose paths have it; empty: none
}

func (l *lessor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if away, _ := l.away.Load().(string); away != "" && strings.Contains(r.URL.Path, away) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	l.Handler.ServeHTTP(w, r)
}

// freePorts are ports that nobody listens on; they are given back before they are used.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// note is check where another goroutine than the test's may be: it goes on.
func note(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
