package config

import "github.com/watchbench/watchbench/watcher/pipeline"

// Config is the main file. Zero values are replaced by Default's before decoding.
type Config struct {
	// Profile is this watcher's own key: who carries the changes to storage. See
	// package legacy for what its profile takes of the other keys.
	Profile       string        `json:"profile"`
	Default       Identity      `json:"default"`
	WatchResource WatchResource `json:"watch_resource"`
	BCS           BCS           `json:"bcs"`
	K8s           K8s           `json:"k8s"`
	// FilterConfigPath names the filter file, relative to the working directory.
	FilterConfigPath string `json:"filterConfigPath"`

	// Address and Port serve health and, with DebugMode, pprof; Address and
	// MetricPort serve the metrics.
	Address        string `json:"address"`
	Port           uint16 `json:"port"`
	MetricPort     uint16 `json:"metric_port"`
	CAFile         string `json:"ca_file"`
	ServerCertFile string `json:"server_cert_file"`
	ServerKeyFile  string `json:"server_key_file"`
	DebugMode      bool   `json:"debug_mode"`

	Synchronizer   Synchronizer   `json:"synchronizer"`
	Alertor        Alertor        `json:"alertor"`
	LeaderElection LeaderElection `json:"leaderElection"`

	// Verbosity 4 and more logs each event.
	Verbosity int `json:"v"`
}

// Synchronizer compares storage with the cluster. It is this watcher's own section.
type Synchronizer struct {
	Disabled bool     `json:"disabled"`
	Period   Duration `json:"period"`
	// Name is that of the record in storage that says which kinds this watcher collects.
	Name string `json:"name"`
}

// Alertor configures where warnings about owned Pods are delivered. It is this watcher's own
// section.
type Alertor struct {
	BCSHealth    bool `json:"bcsHealth"`    // found in ZooKeeper, key bcs.zk
	Alertmanager List `json:"alertmanager"` // http://host:port
	// What Alertmanager asks for; the files are read again when they change.
	TLS             TLS      `json:"tls"`
	BearerTokenFile string   `json:"bearerTokenFile"`
	User            string   `json:"user"`
	PasswordFile    string   `json:"passwordFile"`
	Convergence     Duration `json:"convergence"`
}

// LeaderElection lets one of several replicas work, by a Lease of that name. It is
// this watcher's own section.
type LeaderElection struct {
	Enabled   bool   `json:"enabled"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Identity says which cluster this is.
type Identity struct {
	ClusterID   string `json:"clusterID"`
	HostIP      string `json:"hostIP"`
	Environment string `json:"environment"`
}

// WatchResource chooses what is watched, together with the filter file.
type WatchResource struct {
	Namespace         string            `json:"namespace"` // "" is all
	DisableCRD        bool              `json:"disable_crd"`
	DisableNetService bool              `json:"disable_netservice"`
	LabelSelectors    map[string]string `json:"label_selectors"` // by kind
}

// BCS is the side of the platform: storage, its discovery, and the queues.
type BCS struct {
	ZK                        string `json:"zk"`
	NetServiceZooKeepers      string `json:"netservice-zookeepers"`
	CustomStorageEndpoints    List   `json:"custom-storage-endpoints"`
	CustomNetServiceEndpoints List   `json:"custom-netservice-endpoints"`
	IsExternal                bool   `json:"is-external"`
	TLS                       TLS    `json:"tls"`
	WriterQueueLen            int    `json:"writerQueueLen"`
	PodQueueNum               int    `json:"podQueueNum"`

	// What follows are this watcher's own keys.

	Strategy         pipeline.Strategy  `json:"strategy"`
	MaxInFlight      int                `json:"maxInFlight"`
	HandlerQueueLen  int                `json:"handlerQueueLen"`
	QueueFull        pipeline.QueueFull `json:"queueFull"`
	QueueFullTimeout Duration           `json:"queueFullTimeout"`
	AllowUnordered   bool               `json:"allowUnordered"`
	StorageTimeout   Duration           `json:"storageTimeout"`
	// Conditional is for a storage with preconditions: a DELETE then names the uid.
	Conditional  bool     `json:"conditional"`
	DrainTimeout Duration `json:"drainTimeout"`
	// Events are never deleted in storage: these three bound what waits of them.
	EventQueueLen   int      `json:"eventQueueLen"`
	EventQueueBytes int64    `json:"eventQueueBytes"`
	EventMaxAge     Duration `json:"eventMaxAge"`
	// ParkAfter is how often a write is tried that storage refuses while it takes
	// others, before it waits for the object's next change.
	ParkAfter int `json:"parkAfter"`
	// ZKUser and ZKPassword are the digest that ZooKeeper's ACLs ask for. The original
	// sends one too, whose user and password are set when it is linked.
	ZKUser     string `json:"zkUser"`
	ZKPassword string `json:"zkPassword"`
	// InsecureSkipVerify takes any certificate from storage, netservice and bcs-health.
	InsecureSkipVerify bool `json:"insecureSkipVerify"`
}

// TLS are the files of one TLS client.
type TLS struct {
	CAFile   string `json:"ca-file"`
	CertFile string `json:"cert-file"`
	KeyFile  string `json:"key-file"`
	Password string `json:"password"`
}

// K8s says how to reach the apiserver: a kubeconfig, else a master URL, else the
// cluster this process runs in.
type K8s struct {
	Kubeconfig string `json:"kubeconfig"`
	Master     string `json:"master"`
	TLS        TLS    `json:"tls"`
	// ReadPace is this watcher's own key; see collector.Config.
	ReadPace Duration `json:"readPace"`
}
