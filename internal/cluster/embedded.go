package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/procstat"
)

// EmbeddedOptions configures the embedded provider. The zero value is usable.
type EmbeddedOptions struct {
	// Cache is where built binaries are kept; see controlplane.Options.
	Cache string
	// Temp is where the run's directory is made. Empty: the system's.
	Temp string
	// Logs is the directory for the parties' logs. Empty: the run's directory, with which they go away.
	Logs string
	// APIServerFlags and EtcdFlags go on top of the defaults, without dashes. An empty value removes the flag.
	APIServerFlags map[string]string
	EtcdFlags      map[string]string
	// Gates are alpha and beta features of kube-apiserver to switch on, such as ShardedListAndWatch.
	Gates []string
	// StartTimeout bounds the start of each party. 0: 60 s.
	StartTimeout time.Duration
	// Detach leaves the cluster running when the process ends; Existing finds it again. There is one at a time.
	Detach bool
	// Controllers has kube-controller-manager, kube-scheduler and kwok run, too, always from the cache.
	Controllers bool

	fsync bool // Options.FSync
}

const contextName = "watchbench-embedded"

const dirPrefix = "watchbench-cluster-"

// apiserverFlags are the defaults on top of envtest's. They make room for write load on a small machine and change
// nothing about the watch path.
var apiserverFlags = map[string]string{
	// Our only user is in system:masters, whom fair queueing exempts; the load generator has its own limits.
	"enable-priority-and-fairness":   "false",
	"max-requests-inflight":          "3000",
	"max-mutating-requests-inflight": "2000",
	"profiling":                      "false",
	// The reconciler would keep writing endpoints that nobody uses; without an address it wants a default route.
	"endpoint-reconciler-type": "none",
	"advertise-address":        "127.0.0.1",
	// Teardown deletes collections of thousands of pods.
	"delete-collection-workers": "4",
}

// etcdFlags: the data is thrown away, and a long churn writes more than the default quota of 2 GiB between compactions.
var etcdFlags = map[string]string{
	"unsafe-no-fsync":     "true",
	"quota-backend-bytes": "8589934592",
	"log-level":           "warn",
}

const (
	defaultStartTimeout = 60 * time.Second
	// stopTimeout is how long envtest waits for etcd to stop if kube-apiserver did not start; we kill the other parties.
	stopTimeout = time.Second
	// portAttempts bounds the starts, as somebody may take a port between envtest's choice and the party's bind.
	portAttempts = 3
)

type embedded struct{ opts EmbeddedOptions }

var _ Provider = (*embedded)(nil)

// Up implements Provider.
func (e *embedded) Up(ctx context.Context, progress func(string)) (*Cluster, error) {
	say := reporter(progress)
	binaries, err := findAll(ctx, e.opts, say)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		c, err := e.start(ctx, binaries, say)
		if err == nil || attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return c, err
		}
		say("a port was taken by another process, starting again")
	}
}

var errPortTaken = errors.New("a port is in use")

type run struct {
	dir   string
	logs  map[string]string
	files map[string]*os.File // logs
	plane *envtest.ControlPlane
	dog   *watchdog
	wg    sync.WaitGroup      // the processes that we started
	env   map[string][]string // by party, on top of our own
}

func (e *embedded) start(ctx context.Context, binaries binaryDirs, say func(string, ...any)) (*Cluster, error) {
	started := time.Now()
	r, err := e.prepare(ctx, binaries)
	if err != nil {
		return nil, err
	}
	say("starting %s", strings.Join(e.opts.parties(), ", "))
	c, err := r.up(ctx, e.opts, binaries)
	if err != nil {
		err = errors.Join(r.explain(ctx, err), r.down(ctx))
		if badinput.Is(err) {
			r.dropLogs() // the error says all
		}
		return nil, err
	}
	if e.opts.Detach {
		if err := r.dog.dismiss(); err != nil {
			return nil, errors.Join(err, r.down(ctx))
		}
		r.dog = nil
	}
	say("kube-apiserver %s and etcd %s ready in %s", c.Version, c.EtcdVersion,
		time.Since(started).Round(100*time.Millisecond))
	return c, nil
}

// prepare makes the run's directory and configures envtest, starting only the watchdog. On an error nothing is left.
func (e *embedded) prepare(ctx context.Context, binaries binaryDirs) (r *run, err error) {
	var dir string
	if e.opts.Detach {
		dir, err = detachedDir(ctx, e.opts)
	} else {
		dir, err = tempDir(e.opts.Temp)
	}
	if err != nil {
		return nil, err
	}
	if e.opts.fsync && inMemory(dir) {
		return nil, errors.Join(badinput.New("set TMPDIR to a folder on a disk, or leave fsync out",
			"etcd would write to %s, which is in memory, so fsync would cost nothing", dir), os.RemoveAll(dir))
	}
	r = &run{dir: dir, logs: map[string]string{}, files: map[string]*os.File{},
		env: map[string][]string{apiserverParty: apiserverEnv()}}
	if err := e.configure(r, binaries.plane); err != nil {
		return nil, errors.Join(err, r.down(ctx))
	}
	return r, nil
}

func (e *embedded) configure(r *run, binaries string) (err error) {
	for _, sub := range []string{"data", "certs"} {
		if err := os.Mkdir(filepath.Join(r.dir, sub), 0o700); err != nil {
			return fmt.Errorf("make a directory for the control plane: %w", err)
		}
	}
	for _, party := range e.opts.parties() {
		if err := r.openLog(e.opts.Logs, party); err != nil {
			return err
		}
	}
	for _, party := range []string{etcdParty, apiserverParty} {
		if err := writeLauncher(r.dir, party, filepath.Join(binaries, party), r.env[party]); err != nil {
			return err
		}
	}
	r.plane = &envtest.ControlPlane{
		Etcd: &envtest.Etcd{
			Path: filepath.Join(r.dir, etcdParty), DataDir: filepath.Join(r.dir, "data"), Out: r.files[etcdParty],
			Err:          r.files[etcdParty],
			StartTimeout: e.opts.StartTimeout, StopTimeout: stopTimeout,
		},
		APIServer: &envtest.APIServer{
			Path: filepath.Join(r.dir, apiserverParty), CertDir: filepath.Join(r.dir, "certs"), Out: r.files[apiserverParty],
			Err:          r.files[apiserverParty],
			StartTimeout: e.opts.StartTimeout, StopTimeout: stopTimeout,
		},
	}
	setFlags(r.plane.Etcd.Configure(), etcdFlags, e.opts.EtcdFlags)
	if e.opts.fsync {
		r.plane.Etcd.Configure().Disable("unsafe-no-fsync")
	}
	setFlags(r.plane.APIServer.Configure(), apiserverFlags, e.opts.grace(), e.opts.gates(), e.opts.APIServerFlags)
	r.dog, err = startWatchdog(embeddedWatchdogScript, r.dir)
	return err
}

// tempDir makes a directory for one run below temp, or the system's where that is empty. Its path is absolute: the
// parties and the watchdog work elsewhere.
func tempDir(temp string) (string, error) {
	temp, err := filepath.Abs(cmp.Or(temp, os.TempDir()))
	if err != nil {
		return "", fmt.Errorf("make the temporary directory absolute: %w", err)
	}
	dir, err := os.MkdirTemp(temp, dirPrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for the cluster's files: %w", err)
	}
	return dir, nil
}

func (r *run) openLog(dir, party string) error {
	if dir == "" {
		dir = r.dir
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the log directory: %w", err)
	}
	path := filepath.Join(dir, party+logSuffix)
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create the log of %s: %w", party, err)
	}
	r.logs[party], r.files[party] = path, f
	return nil
}

func (o EmbeddedOptions) gates() map[string]string {
	if len(o.Gates) == 0 {
		return nil
	}
	return map[string]string{"feature-gates": strings.Join(o.Gates, "=true,") + "=true"}
}

var unknownGate = regexp.MustCompile(`unrecognized feature gate: (\w+)`)

func setFlags(args *envtest.Arguments, sets ...map[string]string) {
	for _, set := range sets {
		for name, value := range set {
			if value == "" {
				args.Disable(name)
				continue
			}
			args.Set(name, value)
		}
	}
}

// up starts the parties and waits until the apiserver serves what clients need.
func (r *run) up(ctx context.Context, opts EmbeddedOptions, binaries binaryDirs) (*Cluster, error) {
	if err := r.startPlane(ctx); err != nil {
		return nil, err
	}
	user, err := r.plane.AddUser(envtest.User{Name: "watchbench", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a client certificate: %w", err)
	}
	cfg := rest.CopyConfig(user.Config())
	c := &Cluster{
		Provider:   Embedded,
		Started:    time.Now(),
		Kubeconfig: filepath.Join(r.dir, "kubeconfig"),
		Dir:        r.dir,
		Logs:       r.logs,
		Flags:      map[string][]string{},
		PIDs:       map[string]int{},
		// They are there before it is.
		Controllers: opts.Controllers,
		ends:        true,
		down:        r.down,
		own:         r,
	}
	if err := kubeapi.WriteConfig(c.Kubeconfig, kubeapi.ConfigFor(contextName, cfg)); err != nil {
		return nil, err
	}
	if c.Version, err = serverVersion(ctx, cfg); err != nil {
		return nil, fmt.Errorf("ask kube-apiserver for its version: %w", err)
	}
	if c.EtcdVersion, err = etcdVersion(ctx, r.plane.Etcd.URL.String()); err != nil {
		return nil, err
	}
	// The apiserver makes it a moment after it calls itself ready.
	if err := waitFor(ctx, cfg, "/api/v1/namespaces/default", probeTimeout); err != nil {
		return nil, err
	}
	if opts.Controllers {
		if err := r.startControllers(ctx, binaries.controllers, cfg, opts.StartTimeout); err != nil {
			return nil, err
		}
	}
	for _, party := range opts.parties() {
		c.Flags[party] = append(partyFlags(r.dir, party), r.env[party]...)
		if c.PIDs[party] = partyPID(r.dir, party); c.PIDs[party] == 0 {
			return nil, fmt.Errorf("%s ended right after it was ready", party)
		}
	}
	return c, c.save()
}

// startPlane runs envtest's start, which knows no context: when ctx ends, the parties are killed under it.
func (r *run) startPlane(ctx context.Context) error {
	done := make(chan error, 1) // one result, so that the goroutine never waits for us
	go func() { done <- r.plane.Start() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		err := killParties(ctx, r.dir)
		<-done
		return errors.Join(context.Cause(ctx), err)
	}
}

// explain adds what the logs say to an error of the start.
func (r *run) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	party := apiserverParty
	if own, ok := errors.AsType[*partyError](err); ok {
		party = own.party
	} else if _, statErr := os.Stat(filepath.Join(r.dir, apiserverParty+pidSuffix)); statErr != nil {
		party = etcdParty // kube-apiserver was never launched
	}
	excerpt := logExcerpt(r.logs[party])
	if strings.Contains(excerpt, "address already in use") {
		err = errors.Join(errPortTaken, err)
	}
	if gate := unknownGate.FindStringSubmatch(excerpt); gate != nil {
		return badinput.New("name one that this kube-apiserver has, or leave it out",
			"kube-apiserver has no feature gate %s", gate[1])
	}
	return fmt.Errorf("start the control plane: %w; from the log of %s:\n%s", err, party, excerpt)
}

// down removes everything, whatever state the run is in.
func (r *run) down(ctx context.Context) error {
	err := removeRun(ctx, r.dir)
	if r.plane != nil {
		// Both have ended; this lets envtest collect them. What it reports is that it found nobody to signal.
		_ = r.plane.Stop()
	}
	r.wg.Wait()
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, r.dog.dismiss())
}

// dropLogs removes the logs, and their folder if nothing else is in it.
func (r *run) dropLogs() {
	for _, path := range r.logs {
		_ = os.Remove(path)
		_ = os.Remove(filepath.Dir(path))
	}
}

func removeRun(ctx context.Context, dir string) error {
	err := killParties(ctx, dir)
	if rmErr := os.RemoveAll(dir); rmErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the control plane's directory: %w", rmErr))
	}
	return err
}

// apiserverGC is GOGC of kube-apiserver: with Go's 100 a fifth of what a write costs it is garbage collection.
const apiserverGC = 400

// memoryShare is the part of the machine's memory above which kube-apiserver collects garbage as often as it takes.
const memoryShare = 0.5

// apiserverEnv is added to our environment, whose GOGC and GOMEMLIMIT are not meant for kube-apiserver.
func apiserverEnv() []string {
	env := []string{fmt.Sprintf("GOGC=%d", apiserverGC)}
	if memory := procstat.Describe().MemoryMiB; memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%dMiB", int64(memoryShare*float64(memory))))
	}
	return env
}
