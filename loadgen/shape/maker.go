package shape

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// What every object carries. internal/cluster/owned looks for RunLabel.
const (
	RunLabel           = "watchbench.dev/run"
	OpAnnotation       = "watchbench.dev/op"       // id of the operation that wrote the object last
	IntendedAnnotation = "watchbench.dev/intended" // its intended time, Unix ns
	ShardLabel         = "watchbench.dev/shard"    // of a Pod with a shard: which, from 0
)

// Kinds of targets.
const (
	KindPod           = "Pod"
	KindReplicaSet    = "ReplicaSet"
	KindDeployment    = "Deployment"
	KindDaemonSet     = "DaemonSet"
	KindJob           = "Job"
	KindEndpointSlice = "EndpointSlice"
	KindEvent         = "Event"
	KindNode          = "Node"
	KindLease         = "Lease"
	KindConfigMap     = "ConfigMap"
	KindWidget        = "Widget"
)

// Object is an object that operations write: a typed one of client-go, or an unstructured one for the custom resource.
type Object interface {
	metav1.Object
	runtime.Object
}

// Refs knows the uids that the apiserver gave; "" where it is not known.
type Refs interface {
	UID(t *plan.Target) types.UID
}

// Config holds the properties shared by all objects of a run.
type Config struct {
	RunID string
	// Namespaces and Nodes name the i-th of the run.
	Namespaces, Nodes func(i int) string
}

// Maker builds objects, for many goroutines at a time; operations of one target come one after the other.
type Maker struct {
	cfg Config

	// mu guards the maps below.
	mu        sync.Mutex
	templates map[templateKey]*template
	lives     map[*plan.Target]*life       // of Served
	started   map[*plan.Target]metav1.Time // Jobs that Request created

	trees sync.Mutex // guards ownership.next; taken with mu held where a template is built
}

// New makes a Maker.
func New(cfg Config) *Maker {
	return &Maker{
		cfg: cfg, templates: map[templateKey]*template{},
		lives: map[*plan.Target]*life{}, started: map[*plan.Target]metav1.Time{},
	}
}
