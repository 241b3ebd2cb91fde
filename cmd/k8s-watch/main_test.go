package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

// TestMain lets the test binary be the command itself, so that exit codes and
// standard error are those of a process.
func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv("K8S_WATCH_ARGS"); ok {
		os.Exit(run(strings.FieldsFunc(args, func(r rune) bool { return r == '\x1f' })))
	}
	os.Exit(clustertest.Shared(m).Run())
}

// program is a k8s-watch that is not started yet.
func program(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "K8S_WATCH_ARGS="+strings.Join(args, "\x1f"))
	return cmd
}

// command runs k8s-watch and gives its exit code and the last line it wrote.
func command(t *testing.T, args ...string) (code int, last, all string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := program(ctx, t, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return cmd.ProcessState.ExitCode(), lines[len(lines)-1], out.String()
}

// TestOriginalConfiguration: a configuration and flags that bcs-k8s-watch starts with do not
// end this one, whatever it makes of them.
func TestOriginalConfiguration(t *testing.T) {
	cmd := program(t.Context(), t, "-f", "testdata/original-config.json", "--log-dir=x", "--pid_dir", "x", "-v", "3",
		"--insecure_port", "1", "--insecure-address=x", "--ipv6_address=x", "--external-ip=x", "--external_ipv6=x", "--external_port=2",
		"--logtostderr", "--alsologtostderr=true", "--stderrthreshold=2", "--vmodule=x", "--log_backtrace_at=x", "--log_max_size=1", "--log_max_num=1")
	until, _ := output(t, cmd)
	until("waiting for storage")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// freeAddress is one where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// outageConfig is a configuration with an apiserver that is down.
func outageConfig(t *testing.T, storage, health string) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(health)
	return configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"address":"127.0.0.1",
"bcs":{"custom-storage-endpoints":%q},"k8s":{"master":%q},"filterConfigPath":"FILTER","port":%s,"metric_port":0}`,
		storage, "http://"+freeAddress(t), port), `{"k8sResourceWhiteList":["v1"]}`)
}

// TestStartDuringOutage: without storage and apiserver it runs, says what it waits for, is
// not ready, and ends when it is told to.
func TestStartDuringOutage(t *testing.T) {
	storage, health := freeAddress(t), freeAddress(t)
	cmd := program(t.Context(), t, "-f", outageConfig(t, "http://"+storage, health))
	until, lines := output(t, cmd)
	readyz := func(want string) {
		t.Helper()
		var got string
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			resp, err := http.Get("http://" + health + "/readyz") //nolint:noctx // a test
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if got = string(b); resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(got, want) {
				return
			}
		}
		t.Fatalf("/readyz says %q, want %q", got, want)
	}
	if line := until("waiting for storage"); !strings.Contains(line, "connection refused") {
		t.Error(line)
	}
	time.Sleep(6 * time.Second) // longer than who looks on may want to wait
	readyz("not started: list Namespace")

	defer storageAt(t, storage).Close()
	if line := until("waiting for the apiserver"); !strings.Contains(line, "connection refused") {
		t.Error(line)
	}
	readyz("not started: the apiserver at")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to its end
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestWrongTrustEnds: that its CA is not the one of storage is no outage.
func TestWrongTrustEnds(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	code, last, _ := command(t, "-f", outageConfig(t, srv.URL, freeAddress(t)))
	if code != 2 || !strings.Contains(last, "config.json: bcs.custom-storage-endpoints") || !strings.Contains(last, "certificate") {
		t.Errorf("exit code %d, %q", code, last)
	}
}

func TestVersion(t *testing.T) {
	if code, last, _ := command(t, "--version"); code != 0 || !strings.HasPrefix(last, "k8s-watch ") {
		t.Errorf("exit code %d, %q", code, last)
	}
}

// station is what a k8s-watch that runs needs: an apiserver, a storage that takes
// everything, and files that a test may write again.
type station struct {
	t                   *testing.T
	storage, kubeconfig string
	filter, cfg         string // paths
}

func newStation(t *testing.T) *station {
	return newStationWith(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
	})
}

func newStationWith(t *testing.T, storage http.HandlerFunc) *station {
	srv := httptest.NewServer(storage)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	s := &station{t: t, storage: srv.URL, kubeconfig: clustertest.Start(t).Kubeconfig,
		filter: filepath.Join(dir, "filter.json"), cfg: filepath.Join(dir, "config.json")}
	s.write(s.filter, `{"k8sResourceWhiteList":["v1"]}`)
	s.configure("4", "")
	return s
}

func (s *station) write(file, text string) {
	s.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// configure writes the configuration with so many queues, and more keys after a comma.
func (s *station) configure(queues, more string) {
	s.write(s.cfg, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":%q,"podQueueNum":%s},"k8s":{"kubeconfig":%q},"filterConfigPath":%q,"port":0,"metric_port":0%s}`,
		s.storage, queues, s.kubeconfig, s.filter, more))
}

// command is k8s-watch with the configuration and more flags.
func (s *station) command(flags ...string) *exec.Cmd {
	return program(s.t.Context(), s.t, append([]string{"-f", s.cfg}, flags...)...)
}

// SIGTERM drains: what waits behind a request that storage has not answered is sent
// too, and the process ends with 0.
func TestSignal(t *testing.T) {
	const objects = 40
	release := make(chan struct{})
	arrived := make(chan string, 10*objects) // names of objects when their request comes in; retries have room
	s := newStationWith(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			arrived <- path.Base(r.URL.Path)
			select {
			case <-release:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
	})
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	maps := kubernetes.NewForConfigOrDie(env.Config).CoreV1().ConfigMaps(ns)
	unsent := map[string]bool{}
	for i := range objects {
		name := fmt.Sprintf("map-%02d", i)
		unsent[name] = true
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.write(s.filter, `{"k8sResourceWhiteList":["v1"],"apiResourceSpecification":[{"groupVersion":"v1","resourceKinds":["ConfigMap"]}]}`)
	s.write(s.cfg, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true,"namespace":%q},
"bcs":{"custom-storage-endpoints":%q,"strategy":"single"},"synchronizer":{"disabled":true},
"k8s":{"kubeconfig":%q},"filterConfigPath":%q,"port":0,"metric_port":0}`, ns, s.storage, s.kubeconfig, s.filter))
	cmd := s.command("--v", "4")
	until, lines := output(t, cmd)
	var first string // the others wait behind it
	select {
	case first = <-arrived:
	case <-time.After(30 * time.Second):
		t.Fatal("no request within 30 s")
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if line := until("msg=draining"); !strings.Contains(line, fmt.Sprintf("events=%d ", objects)) {
		t.Error(line)
	}
	if n := len(arrived); n > 0 {
		t.Fatalf("%d requests behind one that is not answered: the drain would prove nothing", n)
	}
	close(release)
	for lines.Scan() { // to its end
		if strings.Contains(lines.Text(), "events dropped") {
			t.Error(lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	delete(unsent, first)
	for len(arrived) > 0 {
		delete(unsent, <-arrived)
	}
	if len(unsent) > 0 {
		t.Errorf("%d of %d objects were not sent before the end: %v", len(unsent), objects, unsent)
	}
}

// output starts cmd. until returns the next line of its standard error that holds part.
func output(t *testing.T, cmd *exec.Cmd) (until func(part string) string, lines *bufio.Scanner) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines = bufio.NewScanner(stderr)
	return func(part string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return lines.Text()
			}
		}
		t.Fatalf("the process ended without saying %q", part)
		return ""
	}, lines
}

// SIGHUP has the files read again: what may change does, a broken file is one line with
// its place, and the process goes on.
func TestHangup(t *testing.T) {
	s := newStation(t)
	cmd := s.command("--v", "2") // a flag overrides its key at every reading
	until, lines := output(t, cmd)
	hangup := func() {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	until("msg=watching")
	s.configure("16", "")
	hangup()
	if line := until("configuration "); !strings.Contains(line, "configuration reloaded") || !strings.Contains(line, "podQueueNum=16") {
		t.Error(line)
	}
	s.configure("-1", "")
	hangup()
	if line := until("configuration "); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "config.json:2: bcs.podQueueNum: -1: want 0 to 4096") {
		t.Error(line)
	}
	s.write(s.filter, `{"k8sResourceWhiteList":["v1","apps/v1"]}`)
	s.configure("2", `,"debug_mode":true,"v":3`)
	hangup()
	if line := until("configuration "); !strings.Contains(line, "podQueueNum=2") {
		t.Error(line)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to its end
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
