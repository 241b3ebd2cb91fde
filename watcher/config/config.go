package config

import (
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
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
	// Certificate of both servers; needs `server_key_file`. Without: plain HTTP.
	ServerCertFile string `json:"server_cert_file"`
	// Key of `server_cert_file`, not encrypted.
	ServerKeyFile string `json:"server_key_file"`
	// Serve profiles below `/debug/pprof/` on `port`.
	DebugMode bool `json:"debug_mode"`

	Synchronizer   Synchronizer   `json:"synchronizer"`
	CacheCheck     CacheCheck     `json:"cacheCheck"`
	LeaderElection LeaderElection `json:"leaderElection"`
	// Divide the objects among the replicas, see [shards](watcher.md#shards). 0 or 1: one replica has all. At most 64;
	// needs `leaderElection.enabled`.
	Shards int `json:"shards"`
	// What decides about an object's shard: its `name`, `namespace`, or `uid`, which needs `bcs.conditional`.
	ShardBy kubeapi.By `json:"shardBy"`

	ResourceWatcher ResourceWatcher `json:"resourceWatcher"`

	// Log level; 4 adds each list and watch that fails or ends.
	Verbosity int `json:"v"`
}

// Synchronizer compares storage with the cluster. It is this watcher's own section.
type Synchronizer struct {
	// Never compare storage with the cache.
	Disabled bool `json:"disabled"`
	// Longest time between comparisons of storage with the cache; up to 30 s (half of the period) less in a quiet moment.
	// The first is 1 to 31 s after the start.
	Period Duration `json:"period"`
	// Name of its state row, see [several watchers](watcher.md#several-watchers-for-one-cluster).
	Name string `json:"name"`
}

// CacheCheck configures the comparison of the cache with the apiserver. It is this watcher's own
// section; an unknown key in it is an error.
type CacheCheck struct {
	// Time between comparisons of a kind with the apiserver, see [what a watch loses](watcher.md#what-a-watch-loses).
	// `"0s"`: never; a restored cluster is noticed late.
	Period Duration `json:"period"`
	// How long a watch may take to deliver a listed change before it counts as lost.
	Grace Duration `json:"grace"`
}

// LeaderElection lets one of several replicas work, by a Lease of that name. It is
// this watcher's own section.
type LeaderElection struct {
	// Only the holder of a Lease works, see [several replicas](watcher.md#several-replicas).
	Enabled bool `json:"enabled"`
	// Namespace of the Lease.
	Namespace string `json:"namespace"`
	// Name of the Lease.
	Name string `json:"name"`
}

// ResourceWatcher lets other programs read what is cached, and notifies them of changes. It is
// this watcher's own section; an unknown key in it is an error.
type ResourceWatcher struct {
	// Serve the cache to other programs, see [querying with kubectl](query.md).
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
		if r.Watches.Withholds(s.Resource) {
			return fmt.Sprintf("resourceWatcher.notify.subscriptions[%d].resource", i),
				fmt.Sprintf("watches.deny withholds %s, nothing would be sent: name it in one of the two", s.Resource)
		}
	}
	return "", ""
}

// Identity says which cluster this is.
type Identity struct {
	// Part of every storage URL. Required.
	ClusterID string `json:"clusterID"`
	// No effect: no alerts are sent.
	HostIP string `json:"hostIP"`
	// No effect, as in bcs-k8s-watch.
	Environment string `json:"environment"`
}

// WatchResource chooses what is watched, together with the filter file.
type WatchResource struct {
	// Watch this namespace only, and no cluster-scoped kind; empty is all.
	Namespace string `json:"namespace"`
	// Do not follow CustomResourceDefinitions; `crdResourceWhiteList` then has no effect.
	DisableCRD bool `json:"disable_crd"`
	// Do not copy the IP pools of netservice.
	DisableNetService bool `json:"disable_netservice"`
	// Watch only what matches, by kind: `{"Pod": "app in (a,b)"}`.
	LabelSelectors map[string]string `json:"label_selectors"`
}

// BCS is the side of the platform: storage, its discovery, and the queues.
type BCS struct {
	// ZooKeeper hosts, `host:port`, with commas: for storage without `bcs.custom-storage-endpoints`.
	ZK string `json:"zk"`
	// ZooKeeper hosts where netservice is found; empty is `bcs.zk`.
	NetServiceZooKeepers string `json:"netservice-zookeepers"`
	// Addresses of storage, `http(s)://host:port`, optionally with a path.
	CustomStorageEndpoints List `json:"custom-storage-endpoints"`
	// Addresses of netservice, instead of looking it up in ZooKeeper.
	CustomNetServiceEndpoints List `json:"custom-netservice-endpoints"`
	// Use the external addresses of storage found in ZooKeeper.
	IsExternal bool `json:"is-external"`
	TLS        TLS  `json:"tls"`
	// Events of all kinds that may wait for room in their handler queue; 10,240 to 16,777,216.
	WriterQueueLen int `json:"writerQueueLen"`
	// Queues (`partitioned`), or requests in flight per kind (`dedup`, `keyed`); 0 is 30. With `adaptive` the limit per
	// kind; 0 is `bcs.maxInFlight`. At most 4,096.
	PodQueueNum int `json:"podQueueNum"`

	// Token sent to storage as `Authorization: Bearer …`, for a gateway; never logged.
	CustomStorageToken string `json:"custom-storage-endpoints-token"`

	// What follows are this watcher's own keys.

	// File with that token instead; a replaced file is read within a second.
	CustomStorageTokenFile string `json:"custom-storage-endpoints-tokenFile"`
	// How events are queued, see [strategies](watcher.md#strategies): `single`, `partitioned`, `dedup`, `keyed`,
	// `adaptive`; `unordered` needs `bcs.allowUnordered`.
	Strategy pipeline.Strategy `json:"strategy"`
	// Limit of requests in flight, all kinds together (`adaptive`); beyond it each kind may still have one.
	MaxInFlight int `json:"maxInFlight"`
	// Events per handler queue.
	HandlerQueueLen int `json:"handlerQueueLen"`
	// What a full queue does: `coalesce`, `block`, or `drop` after `bcs.queueFullTimeout`. Events are shed at
	// `bcs.eventQueueLen` first.
	QueueFull pipeline.QueueFull `json:"queueFull"`
	// How long `drop` waits for room.
	QueueFullTimeout Duration `json:"queueFullTimeout"`
	// Allow the strategy `unordered`, which loses the order of one object's changes.
	AllowUnordered bool `json:"allowUnordered"`
	// Time limit of one request; the fence is at least 5 s.
	StorageTimeout Duration `json:"storageTimeout"`
	// For a storage with preconditions: DELETE names the uid.
	Conditional bool `json:"conditional"`
	// How long SIGTERM lets the queues drain; the rest is counted and logged.
	DrainTimeout Duration `json:"drainTimeout"`
	// How many Kubernetes Events may wait or be parked. Beyond it parked ones are dropped, then the oldest; they are
	// counted by `k8swatch_events_shed_total` and not sent again.
	EventQueueLen int `json:"eventQueueLen"`
	// How many bytes of Kubernetes Events may wait.
	EventQueueBytes int64 `json:"eventQueueBytes"`
	// Tries of a refused write, while others succeed, before it waits for the next change or comparison.
	ParkAfter int `json:"parkAfter"`
	// User of the digest for ZooKeeper's ACLs. Without: an empty user and password, as in bcs-k8s-watch.
	ZKUser string `json:"zkUser"`
	// Password of `bcs.zkUser`.
	ZKPassword string `json:"zkPassword"`
	// Accept any certificate from storage and netservice, with a warning. Better set `bcs.tls.ca-file`.
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
	// Password of a PEM-encrypted key (`Proc-Type: 4,ENCRYPTED`). No effect in `k8s.tls`.
	Password string `json:"password"`
}

// K8s says how to reach the apiserver: a kubeconfig, else a master URL, else the
// cluster this process runs in.
type K8s struct {
	// A kubeconfig, whose current context names the cluster.
	Kubeconfig string `json:"kubeconfig"`
	// URL of the apiserver, without a kubeconfig. Without both: the cluster it runs in.
	Master string `json:"master"`
	TLS    TLS    `json:"tls"`
	// Longest pause between two reads of a busy watch, 0 to 1 s. Less is fresher and costs CPU.
	ReadPace Duration `json:"readPace"`
}
