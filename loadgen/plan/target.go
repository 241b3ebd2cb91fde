package plan

// Target is the object that operations write: all about it that is decided before the load. They share the pointer.
type Target struct {
	// Lane orders: operations of one lane are sent one after the other, in the order of the plan. One name is one lane.
	Lane int64
	// Kind is as in the op log; Widget is the custom resource widgets.watchbench.dev.
	Kind        string
	Namespace   int // index; ClusterScoped for a Node, NodeLeases for its Lease
	Name        string
	Incarnation int // how many objects had this name before
	// Seed decides what the shape draws: names of containers, labels, images. The pods of one template have the same.
	Seed uint64
	// Bytes is the size at its fullest (a ready pod), as served JSON; if Stripped, without managedFields. 0 where the size
	// follows from the content.
	Bytes    int
	Stripped bool
	// Containers and InitContainers of a Pod or of a workload's template.
	Containers, InitContainers int
	Node                       int  // of a Pod: index of the node that it is bound to, NoNode for none; of a Node: its own
	Bound                      bool // a Pod is created on its node, and nothing follows
	Shard                      int  // of a Pod, with Load.LabelShards: its shard, from 1
	// Owner owns this object: a Pod's ReplicaSet, Job or DaemonSet, a ReplicaSet's Deployment, a Lease's Node.
	Owner *Target
	// Subject is the object of an Event, nil for all other kinds; Reason is the Event's.
	Subject *Target
	Reason  string
	// Spec is how many pods a workload wants when it is created.
	Spec int
}

// Namespaces that are not the run's: none, and that of the nodes' Leases.
const (
	ClusterScoped = -1
	NodeLeases    = -2
)

// NoNode is the node of a pod that cannot be scheduled.
const NoNode = -1

// First lanes of what is numbered by itself. Plain pods of the load begin at 0.
const (
	laneWarmup    = int64(1) << 36
	lanePrefill   = int64(2) << 36
	laneHot       = int64(3) << 36
	laneBystander = int64(4) << 36
	laneWorld     = int64(1) << 40 // nodes, and all of a profile
)

// nodeTarget is the i-th node, leaseTarget its Lease.
func (c *Config) nodeTarget(i int, seed uint64, bytes int) Target {
	return Target{Kind: "Node", Namespace: ClusterScoped, Name: c.NodeName(i), Seed: seed, Bytes: bytes, Node: i}
}

func leaseTarget(node *Target) Target {
	return Target{Kind: "Lease", Namespace: NodeLeases, Name: node.Name, Seed: node.Seed, Owner: node, Node: node.Node}
}

func (c *Config) plainPod(lane int64, name string, namespace, node int) *Target {
	t := &Target{
		Kind: "Pod", Lane: lane, Name: name, Namespace: namespace, Node: node, Seed: c.Seed + uint64(lane),
		Bytes: int(c.ObjectBytes), Stripped: true, Containers: 1,
	}
	if c.LabelShards > 0 {
		t.Shard = int(lane%int64(c.LabelShards)) + 1
	}
	return t
}

// State is a target's content after a write, beyond its stage, as far as its kind has it.
type State struct {
	Replicas    int // spec, then what there is
	Ready       int
	Updated     int // Deployment: of the newest template
	Terminating int // ReplicaSet, Deployment: pods that are to go and are still there
	Active      int // Job
	Succeeded   int
	Failed      int
	Restarts    int       // Pod: of its first container
	Count       int       // Event: how often it was seen; others: how often it was updated
	Template    int       // Deployment, ReplicaSet: which version of the template, from 0
	Endpoints   []*Target // EndpointSlice: its pods, in order; shared, not to be changed
	NotReady    []*Target // those of them that are not ready; shared, not to be changed
	Leaving     []*Target // those of them that are to go; shared, not to be changed
}
