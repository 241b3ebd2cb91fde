package plan

import (
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

func (w *world) newNode(i int) *node {
	n := &node{object: w.object(w.cfg.nodeTarget(i, w.rng.Uint64(), w.tn.Sizes.Node.Draw(w.rng)))}
	n.lease = w.object(leaseTarget(n.Target))
	w.emit(n.object, oplog.TypeCreate, State{})
	w.emit(n.lease, oplog.TypeCreate, State{}, n.object)
	return n
}

func (w *world) keepNodes() {
	for i, n := range w.nodes {
		for _, beat := range []struct {
			of     *object
			kind   string
			period time.Duration
		}{
			{n.lease, oplog.TypeRenew, w.tn.Cluster.LeasePeriod.Std()},
			{n.object, oplog.TypeStatus, w.tn.Cluster.NodeStatusPeriod.Std()},
		} {
			if beat.period == 0 {
				continue
			}
			var renew func()
			count := 0
			renew = func() {
				if !n.down {
					count++
					w.emit(beat.of, beat.kind, State{Count: count})
				}
				w.after(beat.period, renew)
			}
			// Spread over the period, in the order of the nodes.
			w.after((beat.period * time.Duration(i) / time.Duration(len(w.nodes))).Round(time.Microsecond), renew)
		}
	}
}

func (w *world) flap() {
	share := *w.tn.Flaps.Share
	if share == 0 || w.tn.Flaps.Period == 0 {
		return
	}
	period := w.life(w.tn.Flaps.Period.Std())
	mean := max(time.Duration(float64(period)/(share*float64(len(w.nodes)))), leastPeriod)
	var lose func()
	lose = func() {
		if n := w.nodes[w.rng.IntN(len(w.nodes))]; !n.down {
			w.lose(n)
		}
		w.after(exponential(w.rng, mean), lose)
	}
	w.after(exponential(w.rng, mean), lose)
}

// lose has a kubelet fall silent: the node and its pods are marked, and these deleted after the toleration, but for a
// DaemonSet's. A node that is back lets them go.
func (w *world) lose(n *node) {
	n.down = true
	n.losses++
	loss := n.losses
	w.emit(n.object, oplog.TypeUnready, State{})
	w.emit(n.object, oplog.TypeStatus, State{}) // the taint
	for _, p := range slices.Clone(n.pods) {
		if !p.ready || p.dying {
			continue
		}
		w.after(w.draw(w.tn.Writers.Delay), func() {
			if p.ready && !p.dying {
				w.setReady(p, oplog.TypeUnready)
				w.once(p.object, "NodeNotReady")
			}
		})
	}
	w.after(w.life(w.tn.Flaps.Toleration.Std()), func() {
		if n.losses != loss {
			return // it was back in between
		}
		for _, p := range slices.Clone(n.pods) {
			if n.down && !p.ended && p.of != workload(w.daemons) {
				w.once(p.object, "TaintManagerEviction")
				w.terminate(p)
			}
		}
	})
	w.after(w.life(w.tn.Flaps.Down.Std()), func() { w.back(n) })
}

func (w *world) back(n *node) {
	n.down = false
	w.emit(n.object, oplog.TypeReady, State{})
	w.emit(n.object, oplog.TypeStatus, State{})
	waiting := n.waiting
	n.waiting = nil
	for _, do := range waiting {
		do()
	}
	for _, p := range slices.Clone(n.pods) {
		if p.lost && !p.dying && !p.ended {
			w.setReady(p, oplog.TypeReady)
		}
	}
}
