package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

type deployment struct {
	w *world
	*object
	replicas int
	template int
	current  *replicaSet
	old      []*replicaSet // with the newest last
	slices   []*slice
	selected bool
	status   controller
	roll     controller
	rolling  int // rollouts that are wanted, the one under way included
	fate     *recorder
	shown    State
	missing  int // unavailable pods in the status
}

type replicaSet struct {
	*object
	d      *deployment
	want   int
	pods   []*pod // that are not gone, the dying ones included
	spec   podSpec
	status controller
	fate   *recorder
	shown  State
}

func (w *world) newDeployment(number int) *deployment {
	seed := w.rng.Uint64()
	d := &deployment{w: w}
	d.object = w.object(Target{
		Kind: "Deployment", Namespace: w.namespace(), Name: fmt.Sprintf("%s-%d", applications[number%len(applications)],
			number),
		Seed: seed, Bytes: w.tn.Sizes.Deployment.Draw(w.rng),
	})
	d.selected = w.chance(w.tn.Services.Selected)
	d.fate = &recorder{about: d.object}
	d.status = controller{every: w.tn.Writers.Deployment.Std(), write: d.writeStatus}
	d.roll = controller{every: w.tn.Writers.Deployment.Std(), write: d.reconcile}
	return d
}

// newReplicaSet is one of the deployment's present template. Its pods resemble those of the template before.
func (d *deployment) newReplicaSet(want int) *replicaSet {
	w := d.w
	rs := &replicaSet{d: d, want: want}
	if d.current == nil {
		rs.spec = w.podSpec()
	} else {
		rs.spec = d.current.spec
		rs.spec.seed = w.rng.Uint64()
	}
	rs.object = w.object(Target{
		Kind: "ReplicaSet", Namespace: d.Namespace, Name: d.Name + "-" + templateHash(w.rng), Seed: rs.spec.seed,
		Bytes: w.tn.Sizes.ReplicaSet.Draw(w.rng), Owner: d.Target, Spec: want, Containers: rs.spec.containers,
		InitContainers: rs.spec.init,
	})
	rs.fate = &recorder{about: rs.object}
	rs.status = controller{every: w.tn.Writers.ReplicaSet.Std(), write: rs.writeStatus}
	return rs
}

func (rs *replicaSet) state() State {
	s := State{Template: rs.d.template}
	for _, p := range rs.pods {
		if p.dying {
			s.Terminating++
			continue
		}
		s.Replicas++
		if p.ready {
			s.Ready++
		}
	}
	return s
}

func (rs *replicaSet) writeStatus() {
	if !sameCounters(rs.state(), rs.shown) {
		rs.observe()
	}
}

// observe writes the status though its counters may not differ: after a change of the spec its generation does.
func (rs *replicaSet) observe() {
	rs.shown = rs.state()
	rs.d.w.emit(rs.object, oplog.TypeStatus, rs.shown)
	rs.told()
}

// told makes the deployment's controller reconcile its ReplicaSet.
func (rs *replicaSet) told() {
	d := rs.d
	d.w.touch(&d.status)
	if d.rolling > 0 {
		d.w.touch(&d.roll)
	}
}

func sameCounters(a, b State) bool {
	return a.Replicas == b.Replicas && a.Ready == b.Ready && a.Updated == b.Updated && a.Terminating == b.Terminating
}

func (d *deployment) state() State {
	s := State{Template: d.template}
	for _, rs := range append(slices.Clone(d.old), d.current) {
		s.Replicas += rs.shown.Replicas
		s.Ready += rs.shown.Ready
		s.Terminating += rs.shown.Terminating
	}
	s.Updated = d.current.shown.Replicas
	return s
}

// unavailable is how many pods of those that the ReplicaSets want are not ready.
func (d *deployment) unavailable() int {
	want, ready := d.current.want, d.current.shown.Ready
	for _, rs := range d.old {
		want, ready = want+rs.want, ready+rs.shown.Ready
	}
	return max(0, want-ready)
}

func (d *deployment) writeStatus() {
	if !sameCounters(d.state(), d.shown) || d.unavailable() != d.missing {
		d.observe()
	}
}

func (d *deployment) observe() {
	d.shown, d.missing = d.state(), d.unavailable()
	d.w.emit(d.object, oplog.TypeStatus, d.shown)
}

func (rs *replicaSet) changed(p *pod) {
	d, w := rs.d, rs.d.w
	if d.selected {
		d.endpoint(p)
	}
	if p.gone {
		rs.pods = slices.DeleteFunc(rs.pods, func(x *pod) bool { return x == p })
	}
	w.touch(&rs.status)
	if !p.dying && !p.gone {
		return
	}
	// A pod that went without being asked to is replaced.
	if live := rs.live(); live < rs.want {
		w.after(w.draw(w.tn.Writers.Delay), func() { rs.fill() })
	}
}

func (rs *replicaSet) live() (n int) {
	for _, p := range rs.pods {
		if !p.dying {
			n++
		}
	}
	return n
}

// scale changes how many pods a ReplicaSet wants, as its deployment's controller does.
func (rs *replicaSet) scale(want int) {
	w, d := rs.d.w, rs.d
	up := want > rs.want
	rs.want = want
	s := rs.state()
	s.Replicas = want
	w.emit(rs.object, oplog.TypeScale, s)
	w.record(d.fate, "ScalingReplicaSet", fmt.Sprint(rs.Name, want, up))
	rs.told()
	w.after(w.draw(w.tn.Writers.Delay), func() {
		rs.observe() // before anything comes of it
		if up {
			rs.fill()
			return
		}
		rs.shrink()
	})
}

// maxSlowStart is the most pods that a ReplicaSet's controller makes before it looks again.
const maxSlowStart = 500

// fill makes the missing pods, in batches that grow as long as all goes well.
func (rs *replicaSet) fill() {
	missing := rs.want - rs.live()
	if missing <= 0 {
		return
	}
	w := rs.d.w
	made, at := 0, time.Duration(0)
	for batch := 1; made < min(missing, maxSlowStart); batch *= 2 {
		n := min(batch, min(missing, maxSlowStart)-made)
		for range n {
			p := w.newPod(rs, rs.object, rs.Namespace, rs.Name+"-"+w.suffix(), rs.spec, nil)
			p.crashes = w.chance(w.tn.Crashes.Share)
			rs.pods = append(rs.pods, p)
			w.after(at, func() {
				w.start(p, rs.object)
				w.record(rs.fate, "SuccessfulCreate", p.Name)
			})
		}
		made += n
		at += w.draw(w.tn.Writers.Delay)
	}
	if made < missing {
		w.after(at, rs.fill)
	}
	w.touch(&rs.status)
}

// shrink deletes the oldest ready pods, then others, so that what a scale operation added lives about as long as was
// drawn. (A real controller begins with the newest, which here would mostly be pods that have only begun.)
func (rs *replicaSet) shrink() {
	w := rs.d.w
	many := rs.live() - rs.want
	for _, ready := range []bool{true, false} {
		for _, p := range slices.Clone(rs.pods) {
			if many > 0 && !p.dying && p.ready == ready {
				many--
				w.record(rs.fate, "SuccessfulDelete", p.Name)
				w.terminate(p)
			}
		}
	}
}

func (d *deployment) scaleBy(n int) {
	w := d.w
	d.replicas = max(0, d.replicas+n)
	s := d.state()
	s.Replicas = d.replicas
	w.emit(d.object, oplog.TypeScale, s)
	w.after(w.draw(w.tn.Writers.Delay), func() {
		if d.rolling > 0 {
			w.touch(&d.roll)
			return
		}
		d.observe()
		d.current.scale(d.replicas)
	})
}

func (w *world) pulse(d *deployment, n int) {
	d.scaleBy(n)
	w.after(w.life(w.tn.Services.Lifetime.Draw(w.rng)), func() { d.scaleBy(-n) })
}
