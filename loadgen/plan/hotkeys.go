package plan

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Hotkeys sends a share of the load's writes to a few pods, several at a time without waiting, so that states of one
// object wait beside each other. The pods live from before the load to its end.
type Hotkeys struct {
	Objects int `json:"objects" jsonschema:"required,minimum=1,maximum=1000" jsonschema_description:"Number of hot pods."`
	// Zipf is the exponent s by which the pod of rank r, from 1, gets 1/r^s of the bursts; 0: all the same.
	Zipf float64 `json:"zipf,omitempty" jsonschema:"minimum=0,maximum=10" jsonschema_description:"Zipf exponent of a burst's choice of pod; 0: uniform."`
	// Burst is the number of patches that are sent to one pod at once.
	Burst int `json:"burst" jsonschema:"required,minimum=2,maximum=100" jsonschema_description:"Patches sent to one pod back to back."`
	// Share is the part of the load's writes that belongs to bursts.
	Share float64 `json:"share" jsonschema:"required,exclusiveMinimum=0,maximum=0.9" jsonschema_description:"Share of the writes that are such patches."`
}

// hotPods are the pods that bursts hit, in the order of their rank.
func (p *Plan) hotPods() []*Target {
	if p.cfg.Hotkeys == nil {
		return nil
	}
	rng, names := p.rng(streamHotPods), newNamer(p.rng(streamHotNames), "hot-")
	pods := make([]*Target, p.cfg.Hotkeys.Objects)
	for i := range pods {
		namespace := rng.IntN(p.cfg.Namespaces)
		pods[i] = p.cfg.plainPod(laneHot+int64(i), names.name(int64(i)), namespace, rng.IntN(p.cfg.Nodes))
	}
	return pods
}

// bursts decides which operations are patches of hot pods. Each saves Share up until a whole burst is paid for.
type bursts struct {
	*Hotkeys
	rng   *rand.Rand
	pods  []*Target
	ranks []float64 // weights of the pods, summed up
	sent  []int     // patches of each pod, of this sequence
	saved float64
	left  int // patches of the burst under way
	pod   int // its pod
}

// newBursts is the state of sequence k of n, nil without hot keys. They begin with different savings, to spread bursts.
func (p *Plan) newBursts(k, n int, pods []*Target) *bursts {
	h := p.cfg.Hotkeys
	if h == nil {
		return nil
	}
	b := &bursts{Hotkeys: h, rng: p.rng(streamHot + uint64(k)), pods: pods, sent: make([]int, h.Objects)}
	b.saved = float64(h.Burst) * (float64(k) + p.rng(streamHotStart).Float64()) / float64(n)
	sum := 0.0
	for rank := 1; rank <= h.Objects; rank++ {
		sum += math.Pow(float64(rank), -h.Zipf)
		b.ranks = append(b.ranks, sum)
	}
	return b
}

// next is the sequence's next operation if it belongs to a burst; first says that the burst begins with it.
func (b *bursts) next() (op Op, first, ok bool) {
	if b == nil {
		return Op{}, false, false
	}
	b.saved += b.Share
	if b.left == 0 && b.saved >= float64(b.Burst) {
		b.saved -= float64(b.Burst)
		b.left, first = b.Burst, true
		at := b.rng.Float64() * b.ranks[len(b.ranks)-1]
		b.pod = min(sort.SearchFloat64s(b.ranks, at), len(b.ranks)-1)
	}
	if b.left == 0 {
		return Op{}, false, false
	}
	b.left--
	b.sent[b.pod]++
	n := b.sent[b.pod]
	return Op{Type: oplog.TypePatch, N: n, Target: b.pods[b.pod], State: &State{Count: n}, Hot: true, Rank: b.pod,
		Burst: b.left}, first, true
}
