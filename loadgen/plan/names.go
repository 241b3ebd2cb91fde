package plan

import (
	"math/rand/v2"
	"strconv"
)

// letters are those that Kubernetes' own name generator uses: no vowels, so that no words come out.
const letters = "bcdfghjklmnpqrstvwxz2456789"

// suffixLength letters distinguish the pods of one application, as in the names a ReplicaSet gives.
const suffixLength = 5

// suffixSpace is the number of suffixes; it exceeds MaxOperations, and with it the number of pods of a plan.
const suffixSpace = 27 * 27 * 27 * 27 * 27

// scramble is coprime to suffixSpace, so that multiplying by it visits every suffix once, in no visible order.
const scramble = 9_132_457

var applications = []string{"web", "api", "cart", "search", "worker", "auth", "feed", "billing"}

// namer gives pods names like a ReplicaSet's. The watcher hashes names to queues, so their shape is part of the load.
type namer struct {
	bases  []string // application and template hash
	offset int64
}

func newNamer(rng *rand.Rand, prefix string) namer {
	n := namer{offset: rng.Int64N(suffixSpace)}
	for _, app := range applications {
		n.bases = append(n.bases, prefix+app+"-"+templateHash(rng)+"-")
	}
	return n
}

func templateHash(rng *rand.Rand) string {
	hash := make([]byte, 10)
	for i := range hash {
		hash[i] = letters[rng.IntN(len(letters))]
	}
	return string(hash)
}

// name is the name of pod number index; different for every index below suffixSpace.
func (n namer) name(index int64) string {
	return n.bases[index%int64(len(n.bases))] + n.suffix(index)
}

func (n namer) suffix(index int64) string {
	v := (index*scramble + n.offset) % suffixSpace
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = letters[v%27]
		v /= 27
	}
	return string(suffix)
}

// Names of what a run creates in the cluster.

// NamespaceName is the i-th namespace of the run, from 0, or the one for ClusterScoped or NodeLeases.
func (c *Config) NamespaceName(i int) string {
	switch i {
	case ClusterScoped:
		return ""
	case NodeLeases:
		return "kube-node-lease"
	}
	return "watchbench-" + c.RunID + "-" + strconv.Itoa(i)
}

// NodeName is the i-th node of the run, from 0.
func (c *Config) NodeName(i int) string { return "watchbench-" + c.RunID + "-node-" + strconv.Itoa(i) }

// BystanderName is the i-th bystander object, from 0.
func (c *Config) BystanderName(i int) string { return "bystander-" + strconv.Itoa(i) }
