package plan

import (
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

type pod struct {
	*object
	of        workload
	on        *node // nil until it is bound
	restarts  int
	bound     bool
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

// workload makes pods and is notified of their changes.
type workload interface {
	changed(p *pod) // p.ready, p.addressed, p.dying or p.gone has
}

type podSpec struct {
	seed             uint64
	bytes            int
	containers, init int
	probed           bool
}

func (k *kubelets) podSpec() podSpec {
	s := podSpec{seed: k.rng.Uint64(), bytes: k.tn.Sizes.Pod.Draw(k.rng),
		containers: max(1, k.tn.Pods.Containers.Whole(k.rng))}
	if k.chance(k.tn.Pods.InitShare) {
		s.init = 1
	}
	s.probed = k.chance(k.tn.Stages.ProbeShare)
	return s
}

// newPod is one that does not exist yet. owner may be nil; so may on, for any node.
func (k *kubelets) newPod(of workload, owner *object, namespace int, name string, s podSpec, on *node) *pod {
	t := Target{
		Kind: "Pod", Namespace: namespace, Name: name, Seed: s.seed, Bytes: s.bytes, Containers: s.containers,
		InitContainers: s.init,
	}
	if owner != nil {
		t.Owner = owner.Target
	}
	p := &pod{of: of, probed: s.probed}
	t.Node = NoNode
	// The node is decided with the pod, as all of its target is.
	if p.on = on; on == nil {
		p.on = k.place()
	}
	if p.on != nil {
		t.Node = p.on.index()
		p.on.pods = append(p.on.pods, p)
	}
	p.object = k.object(t)
	return p
}

func (n *node) index() int { return n.Node }

func (k *kubelets) start(p *pod, owner *object) {
	k.emit(p.object, oplog.TypeCreate, State{}, owner)
	k.schedule(p)
}

func (k *kubelets) schedule(p *pod) {
	if p.on == nil { // no room: it stays as it is, as an unschedulable pod does
		k.after(k.draw(k.tn.Stages.Bind), func() { k.once(p.object, "FailedScheduling") })
		return
	}
	k.after(k.draw(k.tn.Stages.Bind), func() {
		if p.dying {
			return
		}
		p.bound = true
		k.emit(p.object, oplog.TypeBind, State{})
		k.once(p.object, "Scheduled")
		k.kubelet(p, k.draw(k.tn.Stages.Creating), func() {
			k.stage(p, oplog.TypeCreating)
			k.kubelet(p, k.draw(k.tn.Stages.Sandbox), func() { k.sandbox(p) })
		})
	})
}

func (k *kubelets) stage(p *pod, kind string) {
	k.emit(p.object, kind, State{Restarts: p.restarts})
}

// kubelet does something to a pod later, unless the pod is to go; while its node is away, it waits.
func (k *kubelets) kubelet(p *pod, d time.Duration, do func()) {
	k.after(d, func() {
		switch {
		case p.gone || p.dying:
		case p.on.down:
			p.on.waiting = append(p.on.waiting, func() { k.kubelet(p, 0, do) })
		default:
			do()
		}
	})
}

func (k *kubelets) sandbox(p *pod) {
	k.stage(p, oplog.TypeSandbox)
	var d time.Duration
	if k.chance(k.tn.Stages.PullShare) {
		d = k.draw(k.tn.Stages.Pull)
		k.once(p.object, "Pulling")
	}
	k.kubelet(p, d, func() {
		for range p.InitContainers {
			k.containerEvents(p)
		}
		if p.InitContainers == 0 {
			k.run(p)
			return
		}
		k.kubelet(p, k.draw(k.tn.Stages.Init), func() {
			k.stage(p, oplog.TypeInitialized)
			k.run(p)
		})
	})
}

func (k *kubelets) containerEvents(p *pod) {
	for _, reason := range []string{"Pulled", "Created", "Started"} {
		if p.fate != nil {
			k.record(p.fate, reason, "")
		} else {
			k.once(p.object, reason)
		}
	}
}

func (k *kubelets) run(p *pod) {
	if p.crashes && p.fate == nil {
		p.fate = &recorder{about: p.object}
	}
	starts := p.Containers
	if p.restarts > 0 {
		starts = 1 // the others run
	}
	for range starts {
		k.containerEvents(p)
	}
	ready := func() {
		p.stopped = false
		k.setReady(p, oplog.TypeReady)
		if p.crashes {
			k.kubelet(p, k.draw(k.tn.Crashes.Run), func() { k.crash(p) })
		}
	}
	k.kubelet(p, k.draw(k.tn.Stages.Running), func() {
		if !p.probed {
			ready() // one write says both
			return
		}
		p.stopped = false
		k.stage(p, oplog.TypeRunning)
		if !p.addressed {
			p.addressed = true
			p.of.changed(p)
		}
		k.kubelet(p, k.draw(k.tn.Stages.Probe), ready)
	})
}

func (k *kubelets) setReady(p *pod, kind string) {
	k.stage(p, kind)
	p.ready, p.lost = kind == oplog.TypeReady, kind == oplog.TypeUnready
	p.addressed = true
	p.of.changed(p)
}

// crash ends the first container, which is started again: first at once, then after pauses that grow, written as they
// end.
func (k *kubelets) crash(p *pod) {
	p.restarts++
	p.stopped = true
	k.setReady(p, oplog.TypeCrashed)
	pause := p.backOff
	p.backOff = min(max(2*pause, k.tn.Crashes.BackOff.Std()), k.tn.Crashes.BackOffMax.Std())
	if pause == 0 {
		k.run(p)
		return
	}
	k.record(p.fate, "BackOff", "")
	k.kubelet(p, pause, func() {
		k.stage(p, oplog.TypeBackOff)
		k.run(p)
	})
}

// terminate deletes a pod with a grace period: the kubelet sees it, its containers end, it goes.
func (k *kubelets) terminate(p *pod) {
	if p.dying || p.gone {
		return
	}
	p.dying, p.ready = true, false
	if !p.bound {
		k.remove(p) // nobody is there to wait for
		return
	}
	k.stage(p, oplog.TypeTerminate)
	p.of.changed(p)
	k.dying(p, k.draw(k.tn.Stages.Seen), func() {
		stop := k.draw(k.tn.Stages.Stop)
		if p.stopped { // nothing is left to kill
			stop = 0
			k.stage(p, oplog.TypeTerminated)
		} else {
			k.stage(p, oplog.TypeAcknowledged)
			for range p.Containers {
				k.once(p.object, "Killing")
			}
		}
		k.dying(p, stop, func() {
			k.stage(p, oplog.TypeTerminated)
			p.addressed = false
			p.of.changed(p)
			k.dying(p, k.draw(k.tn.Stages.Final), func() { k.remove(p) })
		})
	})
}

// dying is kubelet for a pod that is to go.
func (k *kubelets) dying(p *pod, d time.Duration, do func()) {
	k.after(d, func() {
		if p.on.down {
			p.on.waiting = append(p.on.waiting, func() { k.dying(p, 0, do) })
			return
		}
		do()
	})
}

func (k *kubelets) remove(p *pod) {
	p.dying, p.ready, p.addressed = true, false, false
	k.stage(p, oplog.TypeDelete)
	p.gone = true
	if p.on != nil {
		i := slices.Index(p.on.pods, p)
		p.on.pods = slices.Delete(p.on.pods, i, i+1)
	}
	p.of.changed(p)
}
