package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// newWorld is the cluster before the load, with Setup in its writes. made holds the targets of a world before it.
func (p *Plan) newWorld(made *[]*Target) *world {
	w := &world{}
	w.timeline = timeline{cfg: &p.cfg, tn: p.tuning, rng: p.rng(streamWorld), end: math.MaxInt64}
	w.names, w.targets = newNamer(p.rng(streamNames), ""), targetCache{made: made, on: true}
	w.spaces = dist.Must[dist.Number](fmt.Sprintf("zipf(%g,%d)", *p.tuning.NamespaceZipf, p.cfg.Namespaces))
	for i := range p.cfg.Nodes {
		w.nodes = append(w.nodes, w.newNode(i))
	}
	w.setupOthers()
	w.setupServices()
	if *w.tn.Mix.Rollouts > 0 {
		for i := range w.tn.Rollouts.Deployments {
			w.rolled = append(w.rolled, w.setupDeployment(len(w.services)+i, max(1, w.tn.Rollouts.Size.Whole(w.rng))))
		}
	}
	if *w.tn.Mix.Daemons > 0 {
		w.daemons = w.newDaemonSet()
		w.emit(w.daemons.object, oplog.TypeCreate, State{})
		for _, n := range w.nodes {
			w.setupPod(w.daemons.pod(n), w.daemons.object)
		}
		w.daemons.shown = w.daemons.state()
		w.emit(w.daemons.object, oplog.TypeStatus, w.daemons.shown)
	}
	w.targets.on = false
	return w
}

func (w *world) setupOthers() {
	for i := range *w.tn.Cluster.Widgets {
		w.widgets = append(w.widgets, w.object(Target{
			Kind: "Widget", Namespace: w.namespace(), Name: fmt.Sprintf("widget-%d", i), Seed: w.rng.Uint64(),
			Bytes: w.tn.Sizes.Widget.Draw(w.rng),
		}))
		w.emit(w.widgets[i], oplog.TypeCreate, State{})
	}
	for i := range *w.tn.Cluster.ConfigMaps {
		w.configs = append(w.configs, w.object(Target{
			Kind: "ConfigMap", Namespace: w.namespace(), Name: fmt.Sprintf("config-%d", i), Seed: w.rng.Uint64(),
			Bytes: w.tn.Sizes.ConfigMap.Draw(w.rng),
		}))
		w.emit(w.configs[i], oplog.TypeCreate, State{})
	}
}

// setupServices makes the Deployments that are scaled, and divides the prefilled pods among them.
func (w *world) setupServices() {
	if *w.tn.Mix.Services == 0 && w.cfg.Prefill == 0 {
		return
	}
	n := max(1, w.tn.Services.Deployments)
	for i := range n {
		w.services = append(w.services, w.setupDeployment(i, (w.cfg.Prefill+i)/n))
	}
}

func (w *world) setupDeployment(number, replicas int) *deployment {
	d := w.newDeployment(number)
	d.Spec, d.replicas = replicas, replicas
	d.current = d.newReplicaSet(replicas)
	d.Containers, d.InitContainers = d.current.spec.containers, d.current.spec.init
	w.emit(d.object, oplog.TypeCreate, State{Replicas: replicas})
	rs := d.current
	w.emit(rs.object, oplog.TypeCreate, State{Replicas: replicas}, d.object)
	for range replicas {
		p := w.newPod(rs, rs.object, rs.Namespace, rs.Name+"-"+w.suffix(), rs.spec, nil)
		rs.pods = append(rs.pods, p)
		w.setupPod(p, rs.object)
		if d.selected && p.ready {
			p.slice = d.room()
			p.slice.pods = append(p.slice.pods, p)
		}
	}
	rs.shown = rs.state()
	d.shown, d.missing = d.state(), d.unavailable()
	if replicas > 0 {
		w.emit(rs.object, oplog.TypeStatus, rs.shown)
		w.emit(d.object, oplog.TypeStatus, d.shown)
	}
	if d.selected {
		d.room()
		for _, s := range d.slices {
			s.write()
		}
	}
	return d
}

func (w *world) setupPod(p *pod, owner *object) {
	w.emit(p.object, oplog.TypeCreate, State{}, owner)
	if p.on == nil {
		return
	}
	p.bound, p.ready, p.addressed = true, true, true
	w.stage(p, oplog.TypeBind)
	w.stage(p, oplog.TypeReady)
}

// begin ends the setup: what it wrote is done, and time starts.
func (w *world) begin(rng *rand.Rand, gap time.Duration) {
	w.writes = nil
	w.rng, w.gap = rng, gap
}
