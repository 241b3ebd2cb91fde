package plan

import (
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// pod is a pod of a profile on its way through its life.
type pod struct {
	*object
	of        workload
	on        *node // nil until it is bound
	restarts  int
	ready     bool
	dying     bool
	runs      bool // its Job has drawn how long
	ended     bool // it succeeded
	addressed bool // its status has an address, and it has not ended
	stopped   bool // its container crashed, and has not begun again
	replaced  bool // its workload has made another
	lost      bool // it is not ready because its node is away
	crashes   bool
	probed    bool      // it is ready only when its probe says so
	fate      *recorder // of the kubelet; nil unless it repeats itself
	backOff   time.Duration
	slice     *slice
}

// workload is what makes pods and hears of them.
type workload interface {
	changed(p *pod) // p.ready, p.addressed, p.dying or p.gone has
}

// podSpec is what the pods of one workload have in common.
type podSpec struct {
	seed             uint64
	bytes            int
	containers, init int
	probed           bool
}

func (w *world) podSpec() podSpec {
	s := podSpec{seed: w.rng.Uint64(), bytes: w.tn.Sizes.Pod.Draw(w.rng), containers: max(1, w.tn.Pods.Containers.Whole(w.rng))}
	if w.chance(w.tn.Pods.InitShare) {
		s.init = 1
	}
	s.probed = w.chance(w.tn.Stages.ProbeShare)
	return s
}

// newPod is one that does not exist yet. owner may be nil; so may on, for any node.
func (w *world) newPod(of workload, group int, owner *object, namespace int, name string, s podSpec, on *node) *pod {
	t := Target{
		Kind: "Pod", Namespace: namespace, Name: name, Seed: s.seed, Bytes: s.bytes, Containers: s.containers, InitContainers: s.init,
	}
	if owner != nil {
		t.Owner = owner.Target
	}
	p := &pod{of: of, probed: s.probed}
	t.Node = NoNode
	// The node is decided with the pod, as all of its target is.
	if p.on = on; on == nil {
		p.on = w.place()
	}
	if p.on != nil {
		t.Node = p.on.index()
		p.on.pods = append(p.on.pods, p)
	}
	p.object = w.object(group, t)
	return p
}

func (n *node) index() int { return n.Node }

// start creates the pod and has it live.
func (w *world) start(p *pod, owner *object) {
	w.emit(p.object, oplog.TypeCreate, State{}, owner)
	w.schedule(p)
}

func (w *world) schedule(p *pod) {
	if p.on == nil { // no room: it stays as it is, as an unschedulable pod does
		w.after(w.draw(w.tn.Stages.Bind), func() { w.once(p.object, "FailedScheduling") })
		return
	}
	w.after(w.draw(w.tn.Stages.Bind), func() {
		if p.dying {
			return
		}
		w.emit(p.object, oplog.TypeBind, State{})
		w.once(p.object, "Scheduled")
		w.kubelet(p, w.draw(w.tn.Stages.Creating), func() {
			w.stage(p, oplog.TypeCreating)
			w.kubelet(p, w.draw(w.tn.Stages.Sandbox), func() { w.sandbox(p) })
		})
	})
}

func (w *world) stage(p *pod, kind string) {
	w.emit(p.object, kind, State{Restarts: p.restarts})
}

// kubelet does something to a pod later, unless the pod is to go; while its node is away,
// it waits.
func (w *world) kubelet(p *pod, d time.Duration, do func()) {
	w.after(d, func() {
		switch {
		case p.gone || p.dying:
		case p.on.down:
			p.on.waiting = append(p.on.waiting, func() { w.kubelet(p, 0, do) })
		default:
			do()
		}
	})
}

func (w *world) sandbox(p *pod) {
	w.stage(p, oplog.TypeSandbox)
	var d time.Duration
	if w.chance(w.tn.Stages.PullShare) {
		d = w.draw(w.tn.Stages.Pull)
		w.once(p.object, "Pulling")
	}
	w.kubelet(p, d, func() {
		for range p.InitContainers {
			w.containerEvents(p)
		}
		if p.InitContainers == 0 {
			w.run(p)
			return
		}
		w.kubelet(p, w.draw(w.tn.Stages.Init), func() {
			w.stage(p, oplog.TypeInitialized)
			w.run(p)
		})
	})
}

func (w *world) containerEvents(p *pod) {
	for _, reason := range []string{"Pulled", "Created", "Started"} {
		if p.fate != nil {
			w.record(p.fate, reason, "")
		} else {
			w.once(p.object, reason)
		}
	}
}

// run starts the containers.
func (w *world) run(p *pod) {
	if p.crashes && p.fate == nil {
		p.fate = &recorder{about: p.object}
	}
	starts := p.Containers
	if p.restarts > 0 {
		starts = 1 // the others run
	}
	for range starts {
		w.containerEvents(p)
	}
	ready := func() {
		p.stopped = false
		w.setReady(p, oplog.TypeReady)
		if p.crashes {
			w.kubelet(p, w.draw(w.tn.Crashes.Run), func() { w.crash(p) })
		}
	}
	w.kubelet(p, w.draw(w.tn.Stages.Running), func() {
		if !p.probed {
			ready() // one write says both
			return
		}
		p.stopped = false
		w.stage(p, oplog.TypeRunning)
		if !p.addressed {
			p.addressed = true
			p.of.changed(p)
		}
		w.kubelet(p, w.draw(w.tn.Stages.Probe), ready)
	})
}

func (w *world) setReady(p *pod, kind string) {
	w.stage(p, kind)
	p.ready, p.lost = kind == oplog.TypeReady, kind == oplog.TypeUnready
	p.addressed = true
	p.of.changed(p)
}

// crash ends the first container with an error; it is started again, the first time at
// once, then after a pause that grows. That it waits is written only as the pause ends.
func (w *world) crash(p *pod) {
	p.restarts++
	p.stopped = true
	w.setReady(p, oplog.TypeCrashed)
	pause := p.backOff
	p.backOff = min(max(2*pause, w.tn.Crashes.BackOff.Std()), w.tn.Crashes.BackOffMax.Std())
	if pause == 0 {
		w.run(p)
		return
	}
	w.record(p.fate, "BackOff", "")
	w.kubelet(p, pause, func() {
		w.stage(p, oplog.TypeBackOff)
		w.run(p)
	})
}

// terminate deletes a pod with a grace period: the kubelet sees it, its containers end,
// it goes.
func (w *world) terminate(p *pod) {
	if p.dying || p.gone {
		return
	}
	p.dying, p.ready = true, false
	if p.on == nil {
		w.remove(p) // nobody is there to wait for
		return
	}
	w.stage(p, oplog.TypeTerminate)
	p.of.changed(p)
	w.dying(p, w.draw(w.tn.Stages.Seen), func() {
		stop := w.draw(w.tn.Stages.Stop)
		if p.stopped { // nothing is left to kill
			stop = 0
			w.stage(p, oplog.TypeTerminated)
		} else {
			w.stage(p, oplog.TypeAcknowledged)
			for range p.Containers {
				w.once(p.object, "Killing")
			}
		}
		w.dying(p, stop, func() {
			w.stage(p, oplog.TypeTerminated)
			p.addressed = false
			p.of.changed(p)
			w.dying(p, w.draw(w.tn.Stages.Final), func() { w.remove(p) })
		})
	})
}

// dying is kubelet for a pod that is to go.
func (w *world) dying(p *pod, d time.Duration, do func()) {
	w.after(d, func() {
		if p.on.down {
			p.on.waiting = append(p.on.waiting, func() { w.dying(p, 0, do) })
			return
		}
		do()
	})
}

// remove is the end of a pod.
func (w *world) remove(p *pod) {
	p.dying, p.ready, p.addressed = true, false, false
	w.stage(p, oplog.TypeDelete)
	p.gone = true
	if p.on != nil {
		i := slices.Index(p.on.pods, p)
		p.on.pods = slices.Delete(p.on.pods, i, i+1)
	}
	p.of.changed(p)
}
