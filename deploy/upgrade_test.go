package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

// upgrade goes through the steps of docs/upgrade.md with processes in place of Pods.
type upgrade struct {
	t               *testing.T
	env             *clustertest.Env
	dir             string // of binaries and files
	storage, mock   party  // bcs-storage, and the mock of the trial
	old, new        *exec.Cmd
	health, metrics string // ports of the new one, of health and metrics
	namespace       string
	maps            typedcorev1.ConfigMapInterface
}

// party is a storagemock.
type party struct{ address, admin string }

// steps are the headings of docs/upgrade.md, in their order.
var steps = []struct {
	heading string
	run     func(*upgrade)
}{
	{"1. Check the configuration", (*upgrade).check},
	{"2. Grant the rights", (*upgrade).grant},
	{"3. Try it beside the old one", (*upgrade).try},
	{"4. Stop the old one", (*upgrade).stopOld},
	{"5. Start the new one", (*upgrade).startNew},
	{"6. See that it is done", (*upgrade).done},
	{"Roll back", (*upgrade).rollBack},
}

// TestUpgrade: a bcs-k8s-watch (watchlegacy) runs while objects change; k8s-watch
// takes over by the documented steps, and the way back works. After each change storage
// has what the cluster has, and at no time is a row replaced by an older version.
func TestUpgrade(t *testing.T) {
	text, err := os.ReadFile("../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, tried []string
	for _, m := range regexp.MustCompile(`(?m)^## (\d+\. .*|Roll back)$`).FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	for _, s := range steps {
		tried = append(tried, s.heading)
	}
	if !slices.Equal(documented, tried) {
		t.Fatalf("the steps of docs/upgrade.md are %q, those of the test %q", documented, tried)
	}

	u := &upgrade{t: t, env: clustertest.Start(t), dir: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", u.dir+"/", "../cmd/k8s-watch", "../cmd/watchlegacy", "../cmd/storagemock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	u.namespace = clustertest.Namespace(t, u.env.Config)
	u.maps = kubernetes.NewForConfigOrDie(u.env.Config).CoreV1().ConfigMaps(u.namespace)
	u.storage, u.mock = u.storagemock(), u.storagemock()
	u.tamper("gone-namespace", "left") // what bcs-k8s-watch never removes
	u.write("filter.json", `{"k8sResourceWhiteList":["v1"],"apiResourceSpecification":[{"groupVersion":"v1","resourceKinds":["ConfigMap","Namespace"]}]}`)
	u.write("old.json", u.config("old", u.storage, ""))
	u.old = u.start("old.json")
	for _, s := range steps {
		t.Log(s.heading)
		stop := u.churn()
		s.run(u)
		time.Sleep(2 * time.Second)
		stop()
		if s.heading != "4. Stop the old one" {
			// The imitation has no synchronizer: what was deleted while nothing ran stays.
			u.equal(u.storage, 75*time.Second, s.heading == "Roll back")
		}
	}
	u.noneOlder()
}

// config is a configuration as bcs-k8s-watch has it, with more keys.
func (u *upgrade) config(name string, storage party, more string) string {
	health, metrics := freePort(u.t), freePort(u.t)
	if name == "new" {
		u.health, u.metrics = health, metrics
	}
	return fmt.Sprintf(`{%s"default":{"clusterID":"BCS-K8S-00000","hostIP":"127.0.0.1","environment":"test"},
"watch_resource":{"disable_netservice":true,"disable_crd":true},
"bcs":{"zk":"","custom-storage-endpoints":%q,"writerQueueLen":10240,"podQueueNum":30},
"k8s":{"kubeconfig":%q},"filterConfigPath":%q,"address":"127.0.0.1","port":%s,"metric_port":%s,
"log_dir":"./logs","logtostderr":true,"v":3}`, more, "http://"+storage.address, u.env.Kubeconfig, u.path("filter.json"), health, metrics)
}

func (u *upgrade) check() {
	const election = `"leaderElection":{"enabled":true,"namespace":"default"},`
	u.write("new.json", u.config("new", u.storage, election))
	u.write("trial.json", u.config("trial", u.mock, ""))
}

// grant only prints the roles: the processes of the test have all rights. That the roles
// suffice is tested beside the command.
func (u *upgrade) grant() {
	out, err := exec.CommandContext(u.t.Context(), u.path("k8s-watch"), "rbac", "-f", u.path("new.json")).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("configmaps")) {
		u.t.Fatalf("rbac: %v\n%s", err, out)
	}
}

func (u *upgrade) try() {
	trial := u.start("trial.json")
	time.Sleep(5 * time.Second)
	written := u.state(u.mock)
	u.stop(trial)
	if len(written) == 0 {
		u.t.Error("the trial wrote nothing to its own storage")
	}
}

func (u *upgrade) stopOld() {
	u.stop(u.old)
	time.Sleep(10 * time.Second)
}

func (u *upgrade) startNew() {
	u.new = u.start("new.json")
	u.eventually(30*time.Second, "it is ready", func() string {
		resp, err := http.Get("http://127.0.0.1:" + u.health + "/readyz")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return ""
	})
}

func (u *upgrade) done() {
	u.eventually(75*time.Second, "the metrics say so", func() string {
		resp, err := http.Get("http://127.0.0.1:" + u.metrics + "/metrics")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return err.Error()
		}
		for _, line := range []string{`k8swatch_leading 1`, `k8swatch_sync_runs_total\{result="success"\} [1-9]`, `k8swatch_events_queued\{kind="Namespace"\} 0`, `k8swatch_oldest_unsent_seconds\{kind="Namespace"\} 0`} {
			if !regexp.MustCompile(`(?m)^` + line).Match(text) {
				return "no " + line
			}
		}
		return ""
	})
	u.eventually(75*time.Second, "the row of a namespace that is gone is removed", func() string {
		if _, left := u.state(u.storage)["gone-namespace/left"]; left {
			return "it is still there"
		}
		return ""
	})
}

func (u *upgrade) rollBack() {
	u.stop(u.new)
	time.Sleep(10 * time.Second)
	u.forget()
	u.old = u.start("old.json")
	time.Sleep(5 * time.Second)
}

// forget sends the request of the documented curl.
func (u *upgrade) forget() {
	u.t.Helper()
	text, err := os.ReadFile("../docs/upgrade.md")
	if err != nil {
		u.t.Fatal(err)
	}
	m := regexp.MustCompile(`curl -X DELETE STORAGE(\S+)`).FindSubmatch(text)
	if m == nil {
		u.t.Fatal("docs/upgrade.md has no curl")
	}
	path := strings.Replace(string(m[1]), "CLUSTERID", "BCS-K8S-00000", 1)
	if !bytes.Contains(u.get(u.storage, "/state"), []byte("K8sWatchState")) {
		u.t.Error("there is no row K8sWatchState")
	}
	req, err := http.NewRequestWithContext(u.t.Context(), http.MethodDelete, "http://"+u.storage.address+path, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if bytes.Contains(u.get(u.storage, "/state"), []byte("K8sWatchState")) {
		u.t.Errorf("DELETE %s: %s, the row is still there", path, resp.Status)
	}
}

// churn creates, changes and deletes ConfigMaps until the returned function is called:
// more than the old one can send, so that it is stopped with a queue.
func (u *upgrade) churn() (stop func()) {
	ctx, cancel := context.WithCancel(u.t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("map-%d", rand.IntN(100))
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"i": fmt.Sprint(i)}}
			var err error
			if i%3 == 2 {
				err = u.maps.Delete(ctx, name, metav1.DeleteOptions{})
			} else if _, err = u.maps.Update(ctx, m, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
				_, err = u.maps.Create(ctx, m, metav1.CreateOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
				u.t.Error(err)
				return
			}
			time.Sleep(30 * time.Millisecond)
		}
	})
	return func() { cancel(); busy.Wait() }
}

// equal waits until storage has the ConfigMaps that the cluster has, in their version.
func (u *upgrade) equal(p party, within time.Duration, leftovers bool) {
	u.t.Helper()
	list, err := u.maps.List(u.t.Context(), metav1.ListOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range list.Items {
		want[u.namespace+"/"+m.Name] = m.ResourceVersion
	}
	u.eventually(within, "storage has what the cluster has", func() string {
		var wrong []string
		have := u.state(p)
		for key, version := range want {
			if have[key] != version {
				wrong = append(wrong, fmt.Sprintf("%s: version %q, want %s", key, have[key], version))
			}
		}
		for key := range have {
			if _, ok := want[key]; !ok && !leftovers && strings.HasPrefix(key, u.namespace+"/") {
				wrong = append(wrong, key+" is too many")
			}
		}
		return strings.Join(wrong, "\n")
	})
}

// noneOlder reads from the ledger that no PUT took that was older than what was there
// before, or had been deleted.
func (u *upgrade) noneOlder() {
	newest := map[string]uint64{}
	puts := 0
	for line := range bytes.Lines(u.get(u.storage, "/ledger")) {
		var e struct {
			Method, Kind, Namespace, Name, Effect string
			ResourceVersion                       uint64
		}
		if err := json.Unmarshal(line, &e); err != nil {
			u.t.Fatalf("%v: %s", err, line)
		}
		if e.Kind != "ConfigMap" || e.Namespace != u.namespace || e.Effect == "rejected" {
			continue
		}
		if e.ResourceVersion < newest[e.Name] && e.Method == http.MethodPut {
			u.t.Errorf("%s: version %d was written over %d", e.Name, e.ResourceVersion, newest[e.Name])
		}
		newest[e.Name] = max(newest[e.Name], e.ResourceVersion)
		puts++
	}
	if puts < 500 {
		u.t.Errorf("only %d writes: the test judged little", puts)
	}
}

// state is the version of each ConfigMap by namespace/name.
func (u *upgrade) state(p party) map[string]string {
	out := map[string]string{}
	for line := range bytes.Lines(u.get(p, "/state")) {
		var row struct {
			Kind, Namespace, Name string
			Data                  struct {
				Metadata struct{ ResourceVersion string }
			}
		}
		if err := json.Unmarshal(line, &row); err != nil {
			u.t.Fatalf("%v: %s", err, line)
		}
		if row.Kind == "ConfigMap" {
			out[row.Namespace+"/"+row.Name] = row.Data.Metadata.ResourceVersion
		}
	}
	return out
}

func (u *upgrade) get(p party, path string) []byte {
	u.t.Helper()
	resp, err := http.Get("http://" + p.admin + path)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		u.t.Fatal(resp.Status, err)
	}
	return b
}

// tamper writes a row that no object stands for.
func (u *upgrade) tamper(namespace, name string) {
	u.t.Helper()
	q := url.Values{"cluster": {"BCS-K8S-00000"}, "kind": {"ConfigMap"}, "namespace": {namespace}, "name": {name}}
	req, err := http.NewRequestWithContext(u.t.Context(), http.MethodPut, "http://"+u.storage.admin+"/state?"+q.Encode(), strings.NewReader(`{"kind":"ConfigMap"}`))
	if err != nil {
		u.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	_ = resp.Body.Close()
}

func (u *upgrade) eventually(within time.Duration, what string, wrong func() string) {
	u.t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(500 * time.Millisecond) {
		said := wrong()
		if said == "" {
			return
		}
		if time.Now().After(deadline) {
			u.t.Fatalf("not within %s: %s\n%s", within, what, said)
		}
	}
}

// storagemock starts one and returns where it listens.
func (u *upgrade) storagemock() party {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), u.path("storagemock"), "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--latency=50ms", "--log-level=error") // the old one sends 20/s of a kind
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var announced struct {
		Listen []string
		Admin  string
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &announced)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return party{announced.Listen[0], announced.Admin}
}

// start runs a watcher; its log is a file that is shown when the test has failed.
func (u *upgrade) start(file string) *exec.Cmd {
	u.t.Helper()
	log, err := os.Create(u.path(fmt.Sprintf("%s-%d.log", file, time.Now().UnixNano())))
	if err != nil {
		u.t.Fatal(err)
	}
	program := "k8s-watch"
	if file == "old.json" {
		program = "watchlegacy"
	}
	cmd := exec.CommandContext(u.t.Context(), u.path(program), "-f", u.path(file))
	cmd.Dir, cmd.Stderr = u.dir, log
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && u.t.Failed() {
			u.t.Logf("%s:\n%s", file, text[max(0, len(text)-2000):])
		}
	})
	return cmd
}

// stop ends a watcher as a Pod is ended.
func (u *upgrade) stop(cmd *exec.Cmd) {
	u.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		u.t.Fatalf("%v: %v", cmd.Args, err)
	}
}

func (u *upgrade) path(name string) string { return filepath.Join(u.dir, name) }

func (u *upgrade) write(name, text string) {
	u.t.Helper()
	if err := os.WriteFile(u.path(name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// freePort is one where nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
