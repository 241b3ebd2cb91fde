package cluster

import (
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/watchbench/watchbench/internal/cluster/controlplane"
	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// KwokLabel is the label, with the value "true", of the nodes whose kubelet kwok plays; one that loses it is lost.
const KwokLabel = "watchbench.dev/kwok"

// CrashLabel is the label of the pods that kwok has end and begin again: those with the value "true".
const CrashLabel = "watchbench.dev/crash"

// NodeGrace is how long after a node's last Lease the controller manager of an embedded cluster takes it for lost, and
// Toleration how long after that its pods are evicted. Kubernetes waits 50 s and 300 s: an experiment has less time.
const (
	NodeGrace  = 30 * time.Second
	Toleration = 5 * time.Second
)

//go:embed stages.yaml
var kwokStages []byte

// parties lists the processes that the options ask for, in the order in which they start.
func (o EmbeddedOptions) parties() []string {
	parties := []string{etcdParty, apiserverParty}
	if o.Controllers {
		parties = append(parties, controlplane.Controllers()...)
	}
	return parties
}

// grace are the flags of kube-apiserver that go with NodeGrace.
func (o EmbeddedOptions) grace() map[string]string {
	if !o.Controllers {
		return nil
	}
	seconds := strconv.Itoa(int(Toleration.Seconds()))
	return map[string]string{"default-not-ready-toleration-seconds": seconds,
		"default-unreachable-toleration-seconds": seconds}
}

type controller struct {
	party  string
	user   envtest.User
	scheme string // of its health page
	args   func(dir, kubeconfig string, port int) []string
}

// controllersOf lists them in the order in which they start, each with an identity and the rights of its own.
func controllersOf() []controller {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }
	return []controller{
		{controlplane.ControllerManager, envtest.User{Name: "system:kube-controller-manager"}, "https",
			func(dir, kubeconfig string, port int) []string {
				return []string{
					"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1",
					"--secure-port=" + strconv.Itoa(port),
					"--use-service-account-credentials=true",
					"--service-account-private-key-file=" + filepath.Join(dir, "certs", "sa-signer.key"),
					"--root-ca-file=" + filepath.Join(dir, caFile), "--profiling=false",
					// The defaults of 20 and 30 requests a second are a limit of the load that a small machine does not need.
					"--kube-api-qps=300", "--kube-api-burst=600",
					"--node-monitor-grace-period=" + seconds(NodeGrace), "--node-monitor-period=2s", "--node-eviction-rate=10",
				}
			}},
		{controlplane.Scheduler, envtest.User{Name: "system:kube-scheduler"}, "https",
			func(_, kubeconfig string, port int) []string {
				return []string{
					"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1",
					"--secure-port=" + strconv.Itoa(port),
					"--kube-api-qps=300", "--kube-api-burst=600", "--profiling=false",
				}
			}},
		{controlplane.Kwok, envtest.User{Name: "kwok", Groups: []string{"system:masters"}}, "http",
			func(dir, kubeconfig string, port int) []string {
				return []string{
					"--kubeconfig=" + kubeconfig, "--config=" + filepath.Join(dir, stagesFile),
					"--manage-nodes-with-label-selector=" + KwokLabel + "=true",
					"--server-address=127.0.0.1:" + strconv.Itoa(port), "--node-lease-duration-seconds=40",
				}
			}},
	}
}

const (
	caFile     = "ca.crt"
	stagesFile = "stages.yaml"
)

// startControllers returns when each says that it is healthy, and the controller manager has written something.
func (r *run) startControllers(ctx context.Context, binaries string, admin *rest.Config, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready within %s", timeout))
	defer cancel()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	for name, data := range map[string][]byte{caFile: admin.CAData, stagesFile: kwokStages} {
		if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o600); err != nil {
			return fmt.Errorf("write what the controllers need: %w", err)
		}
	}
	probes := make([]func(context.Context) error, 0, 3)
	for _, c := range controllersOf() {
		probe, err := r.startController(c, binaries)
		if err != nil {
			return err
		}
		probes = append(probes, probe)
	}
	for _, probe := range probes {
		if err := probe(ctx); err != nil {
			return err
		}
	}
	return wait.PollUntilContextCancel(ctx, healthEvery, true, func(ctx context.Context) (bool, error) {
		there, err := owned.HasControllers(ctx, client)
		return there && err == nil, nil // the next look finds out
	})
}

const healthEvery = 100 * time.Millisecond

// startController starts one and returns the wait for its health.
func (r *run) startController(c controller, binaries string) (probe func(context.Context) error, err error) {
	user, err := r.plane.AddUser(c.user, nil)
	if err != nil {
		return nil, fmt.Errorf("make a client certificate for %s: %w", c.party, err)
	}
	kubeconfig := filepath.Join(r.dir, c.party+".kubeconfig")
	if err := kubeapi.WriteConfig(kubeconfig, kubeapi.ConfigFor(contextName, rest.CopyConfig(user.Config()))); err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if err := writeLauncher(r.dir, c.party, filepath.Join(binaries, c.party), nil); err != nil {
		return nil, err
	}
	p, err := r.launch(c.party, c.args(r.dir, kubeconfig, port)...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return p.healthy(ctx, fmt.Sprintf("%s://127.0.0.1:%d/healthz", c.scheme, port))
	}, nil
}

type process struct {
	party string
	log   string
	ended chan struct{} // closed when it has
}

// launch starts a party's launcher with flags, in a process group of its own.
func (r *run) launch(party string, args ...string) (*process, error) {
	cmd := exec.Command(filepath.Join(r.dir, party), args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+r.dir) // else kwok reads what the user has in theirs
	cmd.Stdout, cmd.Stderr = r.files[party], r.files[party]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", party, err)
	}
	p := &process{party: party, log: r.logs[party], ended: make(chan struct{})}
	r.wg.Go(func() {
		_ = cmd.Wait() // how it ended is in its log
		close(p.ended)
	})
	return p, nil
}

// partyError is a party that does not start; its log says why.
type partyError struct {
	party string
	err   error
}

func (e *partyError) Error() string { return e.party + ": " + e.err.Error() }
func (e *partyError) Unwrap() error { return e.err }

// healthy returns when the party says so at its health page, or when it has ended.
func (p *process) healthy(ctx context.Context, url string) error {
	transport := &http.Transport{
		DisableKeepAlives: true,
		// The certificate is one that the process has just made for itself.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // only "ok" is read
	}
	client := &http.Client{Transport: transport, Timeout: probeTimeout}
	return p.await(ctx, func(ctx context.Context) error {
		_, err := ask(ctx, client, url)
		return err
	})
}

// await returns when a look at the party finds nothing wrong, or when it has ended.
func (p *process) await(ctx context.Context, look func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, healthEvery, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.ended:
			return false, errEnded
		default:
		}
		last = look(ctx)
		return last == nil, nil
	})
	switch {
	case errors.Is(err, errEnded):
		return &partyError{p.party, err}
	case err != nil:
		return &partyError{p.party, fmt.Errorf("%w: %w", context.Cause(ctx), last)}
	}
	return nil
}

var errEnded = errors.New("ended at its start")

// FreePort is one that nobody had a moment ago; who takes it meanwhile is recognised by the log (errPortTaken).
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Hold suspends the controllers until Release. One that has ended by itself is an error: it wrote less than it should.
func (c *Cluster) Hold() error { return c.signal(syscall.SIGSTOP) }

// Release resumes the controllers.
func (c *Cluster) Release() error { return c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(s syscall.Signal) error {
	var errs []error
	for _, party := range controlplane.Controllers() {
		pid := c.PIDs[party]
		if pid == 0 {
			continue
		}
		if !strings.Contains(commandLine(pid), party) {
			errs = append(errs, &EndedError{party, pid, c.Logs[party]})
			continue
		}
		if err := syscall.Kill(pid, s); err != nil {
			errs = append(errs, fmt.Errorf("send %s to %s: %w", s, party, err))
		}
	}
	return errors.Join(errs...)
}
