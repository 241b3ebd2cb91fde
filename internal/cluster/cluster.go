package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/badinput"
)

// Names of the providers.
const (
	Embedded   = "embedded"
	Kind       = "kind"
	Kubeconfig = "kubeconfig"
	Simulated  = "simulated"
)

// Names lists the providers that New knows.
func Names() []string { return []string{Embedded, Kind, Kubeconfig, Simulated} }

// Provider brings a cluster up.
type Provider interface {
	// Up returns when the cluster answers. progress receives one line at a time, without a newline, and may be nil.
	Up(ctx context.Context, progress func(line string)) (*Cluster, error)
}

// Options configures all providers; each reads its own part.
type Options struct {
	// FSync has etcd wait for the disk, as it does in production; embedded only.
	FSync      bool
	Embedded   EmbeddedOptions
	Kind       KindOptions
	Kubeconfig KubeconfigOptions
}

// New returns the provider of that name. Of its options it checks what needs no process and no network.
func New(name string, opts Options) (Provider, error) {
	if name != Embedded && opts.FSync {
		return nil, badinput.New("use the provider embedded, or leave fsync out",
			"fsync can be chosen for the embedded control plane only, not for %q", name)
	}
	switch name {
	case Embedded:
		opts.Embedded.fsync = opts.FSync
		opts.Embedded.StartTimeout = cmp.Or(opts.Embedded.StartTimeout, defaultStartTimeout)
		return &embedded{opts.Embedded}, nil
	case Kind:
		return newKind(opts.Kind)
	case Kubeconfig:
		return newKubeconfig(opts.Kubeconfig)
	case Simulated:
		return simulated{}, nil
	}
	return nil, badinput.New("use one of "+strings.Join(Names(), ", "), "cluster provider %q is not known", name)
}

// Cluster is a control plane that answers.
type Cluster struct {
	Provider string    `json:"provider"`         // one of Names
	Started  time.Time `json:"started,omitzero"` // of one that stays up
	// Kubeconfig is the path of a kubeconfig file with one context; empty for the provider simulated.
	Kubeconfig  string `json:"kubeconfig"`
	Version     string `json:"version"`               // of kube-apiserver, such as "v1.36.3"
	EtcdVersion string `json:"etcdVersion,omitempty"` // such as "3.7.3"; empty where it cannot be known
	// Controllers says whether a controller manager runs: where none does, namespaces do not go away by themselves.
	Controllers bool `json:"controllers"`
	// Flags holds the command line flags of etcd and kube-apiserver, by party. Nil where they are unknown.
	Flags map[string][]string `json:"flags,omitempty"`
	// PIDs holds the parties' process ids on this machine; nil where they are unknown or elsewhere.
	PIDs map[string]int `json:"pids,omitempty"`
	// Logs holds the paths of the parties' logs; nil where we do not write them.
	Logs map[string]string `json:"logs,omitempty"`
	// Dir holds the kubeconfig and, for the embedded provider, everything else.
	Dir string `json:"dir,omitempty"`

	ends    bool // with Down
	once    sync.Once
	downErr error
	down    func(context.Context) error
	own     *run // whose parties can be restarted; nil elsewhere
}

// Down ends what Up started; later calls return the first's result. Child processes are ended even if ctx is done.
func (c *Cluster) Down(ctx context.Context) error {
	c.once.Do(func() {
		if c.down != nil {
			c.downErr = c.down(ctx)
		}
	})
	return c.downErr
}

// Ends reports whether Down destroys the cluster with everything in it.
func (c *Cluster) Ends() bool { return c.ends }

// FSyncs reports whether etcd is known to wait for the disk.
func (c *Cluster) FSyncs() bool {
	flags := c.Flags[etcdParty]
	return len(flags) > 0 && !slices.Contains(flags, "--unsafe-no-fsync=true")
}

// RESTConfig returns a client configuration without a client-side rate limit.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load the cluster's kubeconfig: %w", err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// reporter turns a progress function that may be nil into one that formats.
func reporter(progress func(string)) func(format string, args ...any) {
	return func(format string, args ...any) {
		if progress != nil {
			progress(fmt.Sprintf(format, args...))
		}
	}
}

// SimulatedVersion is the Kubernetes version that a simulated apiserver reports.
const SimulatedVersion = "v1.36.3-apisim"

// simulated is the provider of clusters that the load generator simulates: there is nothing to bring up before.
type simulated struct{}

// Up returns at once.
func (simulated) Up(_ context.Context, progress func(string)) (*Cluster, error) {
	reporter(progress)("each cell gets a simulated API server; what etcd and kube-apiserver cost is not shown")
	return &Cluster{Provider: Simulated, Version: SimulatedVersion, ends: true}, nil
}
