package config

import (
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

// The comments of the fields are the text of docs/k8s-watch-reference.md, in Markdown.
// After a change: go test ./watcher -run TestReference -update

// Config is the main file. Zero values are replaced by Default's before decoding.
type Config struct {
	// No effect; `default` is the only value.
	Profile       string        `json:"profile"`
	Default       Identity      `json:"default"`
	WatchResource WatchResource `json:"watch_resource"`
	BCS           BCS           `json:"bcs"`
	K8s           K8s           `json:"k8s"`
	// The [filter file](#filter-file), relative to the working directory.
	FilterConfigPath string `json:"filterConfigPath"`

	// Address of both HTTP servers. Others see them on `0.0.0.0` only.
	Address string `json:"address"`
	// Port of `/healthz`, `/readyz` and, with `debug_mode`, pprof.
	Port uint16 `json:"port"`
	// Port of `/metrics`; another than `port`.
	MetricPort uint16 `json:"metric_port"`
	// CA of client certificates. With it, clients of both servers need one.
	CAFile string `json:"ca_file"`
	// Certificate of both servers, read again for new connections; needs `server_key_file`. Without: plain HTTP.
	ServerCertFile string `json:"server_cert_file"`
	// Key of `server_cert_file`, not encrypted.
	ServerKeyFile string `json:"server_key_file"`
	// Serve profiles below `/debug/pprof/` on `port`.
	DebugMode bool `json:"debug_mode"`

	Synchronizer   Synchronizer   `json:"synchronizer"`
	CacheCheck     CacheCheck     `json:"cacheCheck"`
	Alertor        Alertor        `json:"alertor"`
	LeaderElection LeaderElection `json:"leaderElection"`

	ResourceWatcher ResourceWatcher `json:"resourceWatcher"`

	// Log level; from 4 on each list and watch that fails or ends is logged, too.
	Verbosity int `json:"v"`
}

// Synchronizer compares storage with the cluster. It is this watcher's own section.
type Synchronizer struct {
	// Never compare storage with the cache, neither at the start nor later.
	Disabled bool `json:"disabled"`
	// At most, from one comparison of storage with the cache to the next; up to 30 s (half of the period) earlier, in a
	// quiet moment. The first is 1 s after the start or, while anything is on its way to storage, in the first quiet
	// moment, 31 s after the start at the latest; it leaves out the kinds whose [first
	// list](watcher.md#what-a-start-sends) was just compared.
	Period Duration `json:"period"`
	// Name of the record in which it remembers the kinds it collects, see [several
	// watchers](watcher.md#several-watchers-for-one-cluster).
	Name string `json:"name"`
}

// CacheCheck configures the comparison of the cache with the apiserver. It is this watcher's own
// section; an unknown key in it is an error.
type CacheCheck struct {
	// Time between comparisons of a kind with the apiserver, see [what a watch loses](watcher.md#what-a-watch-loses); with
	// `"0s"` nothing is compared, and a restored cluster is noticed late.
	Period Duration `json:"period"`
	// How long a watch may take to deliver a change that a list shows before it counts as lost.
	Grace Duration `json:"grace"`
}

// Alertor configures where warnings about owned Pods are delivered. It is this watcher's own
// section.
type Alertor struct {
	// Send warnings about owned Pods to bcs-health, found in ZooKeeper (`bcs.zk`).
	BCSHealth bool `json:"bcsHealth"`
	// How long a repeated warning about the same Pod is suppressed.
	Convergence Duration `json:"convergence"`
}

// LeaderElection lets one of several replicas work, by a Lease of that name. It is
// this watcher's own section.
type LeaderElection struct {
	// Of several replicas only the holder of a Lease works, see [several replicas](watcher.md#several-replicas).
	Enabled bool `json:"enabled"`
	// Namespace of the Lease.
	Namespace string `json:"namespace"`
	// Name of the Lease.
	Name string `json:"name"`
}

// ResourceWatcher lets other programs read what is cached, and notifies them of changes. It is
// this watcher's own section; an unknown key in it is an error.
type ResourceWatcher struct {
	// Serve the cache to other programs, see [querying with kubectl](query.md). Off, it does nothing.
	Enabled bool           `json:"enabled"`
	Server  access.Config  `json:"server"`
	Watches watches.Config `json:"watches"`
	Query   query.Config   `json:"query"`
	// What answers `/v1/relations`, see [relations](relations.md).
	Relations relation.Config `json:"relations"`
	Notify    notify.Config   `json:"notify"`
}

// section is one part of the configuration that checks itself.
type section struct {
	key      string
	validate func() error
}

func (r *ResourceWatcher) sections() []section {
	return []section{
		{"server", r.Server.Validate}, {"watches", r.Watches.Validate}, {"query", r.Query.Validate},
		{"relations", r.Relations.Validate},
		{"notify", r.Notify.Validate},
	}
}

// check finds the first value that cannot work. Each section names its own keys.
func (r *ResourceWatcher) check() (key, msg string) {
	for _, s := range r.sections() {
		err := s.validate()
		if err == nil {
			continue
		}
		first, _, _ := strings.Cut(err.Error(), "\n") // of errors that are joined
		key, msg, ok := strings.Cut(first, ": ")
		if !ok {
			key, msg = "", first
		}
		return strings.TrimSuffix("resourceWatcher."+s.key+"."+key, "."), msg
	}
	for i, s := range r.Notify.Subscriptions {
		if r.Watches.Withholds(watches.GVR(s.Resource)) {
			return fmt.Sprintf("resourceWatcher.notify.subscriptions[%d].resource", i),
				fmt.Sprintf("watches.deny withholds %s, nothing would be sent: name it in one of the two", s.Resource)
		}
	}
	return "", ""
}

// Identity says which cluster this is.
type Identity struct {
	// Part of every URL of storage: rows of another id are those of another cluster. Required.
	ClusterID string `json:"clusterID"`
	// Address in alerts to bcs-health.
	HostIP string `json:"hostIP"`
	// No effect, as in bcs-k8s-watch.
	Environment string `json:"environment"`
}

// WatchResource chooses what is watched, together with the filter file.
type WatchResource struct {
	// Watch this namespace only, and no kind without namespaces; empty is all.
	Namespace string `json:"namespace"`
	// Do not follow CustomResourceDefinitions; `crdResourceWhiteList` then has no effect.
	DisableCRD bool `json:"disable_crd"`
	// Do not copy the IP pools of netservice.
	DisableNetService bool `json:"disable_netservice"`
	// Label selectors by kind, such as `{"Pod": "app in (a,b)"}`: of these kinds only what matches is watched.
	LabelSelectors map[string]string `json:"label_selectors"`
}

// BCS is the side of the platform: storage, its discovery, and the queues.
type BCS struct {
	// ZooKeeper hosts, `host:port`, with commas: where storage is found without `bcs.custom-storage-endpoints`, and
	// bcs-health.
	ZK string `json:"zk"`
	// ZooKeeper hosts where netservice is found; empty is `bcs.zk`.
	NetServiceZooKeepers string `json:"netservice-zookeepers"`
	// Addresses of storage, `http://host:port` or `https://…`, a path at most.
	CustomStorageEndpoints List `json:"custom-storage-endpoints"`
	// Addresses of netservice, instead of looking it up in ZooKeeper.
	CustomNetServiceEndpoints List `json:"custom-netservice-endpoints"`
	// Use the external addresses of storage that is found in ZooKeeper.
	IsExternal bool `json:"is-external"`
	TLS        TLS  `json:"tls"`
	// Events of all kinds together that may wait for room in their handler queue; 10,240 to 16,777,216, what is less or
	// more is raised or lowered to that.
	WriterQueueLen int `json:"writerQueueLen"`
	// Queues (`partitioned`) or requests in flight per kind (`dedup`, `keyed`), 0 is 30; the most requests in flight per
	// kind (`adaptive`), 0 is `bcs.maxInFlight`. At most 4,096.
	PodQueueNum int `json:"podQueueNum"`

	// Token that a gateway before storage asks for: sent with each request to storage as `Authorization: Bearer …`, never
	// logged.
	CustomStorageToken string `json:"custom-storage-endpoints-token"`

	// What follows are this watcher's own keys.

	// File with that token instead; read again within a second of its replacement.
	CustomStorageTokenFile string `json:"custom-storage-endpoints-tokenFile"`
	// How events are queued, see [strategies](watcher.md#strategies): `single`, `partitioned`, `dedup`, `keyed`,
	// `adaptive`; `unordered` only with `bcs.allowUnordered`.
	Strategy pipeline.Strategy `json:"strategy"`
	// Requests in flight of all kinds together (`adaptive`); beyond it each kind may still have one. Where one kind has
	// more than an even share, an eighth is kept for the others.
	MaxInFlight int `json:"maxInFlight"`
	// Events per handler queue.
	HandlerQueueLen int `json:"handlerQueueLen"`
	// What a full queue does: `coalesce`, `block`, or `drop` after `bcs.queueFullTimeout`. Events are shed at
	// `bcs.eventQueueLen` before that, so `block` never holds back their watch while it is less than
	// `bcs.handlerQueueLen`.
	QueueFull pipeline.QueueFull `json:"queueFull"`
	// How long `drop` waits for room.
	QueueFullTimeout Duration `json:"queueFullTimeout"`
	// Allow the strategy `unordered`, which loses the order of one object's changes.
	AllowUnordered bool `json:"allowUnordered"`
	// Time limit of one request; the fence after a lost answer is at least 5 s.
	StorageTimeout Duration `json:"storageTimeout"`
	// For a storage with preconditions: a DELETE names the uid it means.
	Conditional bool `json:"conditional"`
	// How long SIGTERM lets the queues drain; what is left is counted and logged.
	DrainTimeout Duration `json:"drainTimeout"`
	// How many Kubernetes Events may wait or be parked. They are never deleted in storage, so nothing else would bound
	// them while it is away; the oldest are dropped first, and counted by `k8swatch_events_shed_total` and in the log.
	// They are not sent again: no comparison reads Events.
	EventQueueLen int `json:"eventQueueLen"`
	// How many bytes of Kubernetes Events may wait.
	EventQueueBytes int64 `json:"eventQueueBytes"`
	// How long a Kubernetes Event may wait.
	EventMaxAge Duration `json:"eventMaxAge"`
	// Tries of a write that storage refuses while it takes others, before it waits for the object's next change, or for
	// the next comparison.
	ParkAfter int `json:"parkAfter"`
	// User of the digest that ZooKeeper's ACLs ask for. Without, the digest of an empty user and password is sent, like
	// that of a bcs-k8s-watch built from its public source.
	ZKUser string `json:"zkUser"`
	// Password of `bcs.zkUser`.
	ZKPassword string `json:"zkPassword"`
	// Take any certificate from storage, netservice and bcs-health, as bcs-k8s-watch does. A warning says so at each
	// start. Better name their CA in `bcs.tls.ca-file`.
	InsecureSkipVerify bool `json:"insecureSkipVerify"`
}

// TLS are the files of one TLS client.
type TLS struct {
	// CA of the server's certificate; empty is the system's.
	CAFile string `json:"ca-file"`
	// Client certificate.
	CertFile string `json:"cert-file"`
	// Key of the client certificate.
	KeyFile string `json:"key-file"`
	// Password of a key that is encrypted in PEM itself (`Proc-Type: 4,ENCRYPTED`). Of `k8s.tls` it has no effect.
	Password string `json:"password"`
}

// K8s says how to reach the apiserver: a kubeconfig, else a master URL, else the
// cluster this process runs in.
type K8s struct {
	// A kubeconfig, whose current context names the cluster.
	Kubeconfig string `json:"kubeconfig"`
	// URL of the apiserver, where there is no kubeconfig. Without both: the cluster it runs in, as the Pod's own account.
	Master string `json:"master"`
	TLS    TLS    `json:"tls"`
	// The most time from one read of a busy watch to the next, so that several changes cost one waking; 0 to 1 s. A change
	// that comes alone is read at once. At 300 changes/s `5ms` takes 7 ms off the median freshness and costs 164 µs of CPU
	// per request instead of 97.
	ReadPace Duration `json:"readPace"`
}
