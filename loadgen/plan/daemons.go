package plan

import "github.com/watchbench/watchbench/loadgen/oplog"

type daemonSet struct {
	w *world
	*object
	spec   podSpec
	pods   []*pod // by node
	status controller
	fate   *recorder
	shown  State
}

func (w *world) newDaemonSet() *daemonSet {
	ds := &daemonSet{w: w, spec: w.podSpec(), pods: make([]*pod, len(w.nodes))}
	ds.object = w.object(Target{
		Kind: "DaemonSet", Namespace: w.namespace(), Name: "agent", Seed: ds.spec.seed,
		Bytes: w.tn.Sizes.Deployment.Draw(w.rng),
		Spec:  len(w.nodes), Containers: ds.spec.containers, InitContainers: ds.spec.init,
	})
	ds.status = controller{every: w.tn.Writers.Deployment.Std(), write: ds.writeStatus}
	ds.fate = &recorder{about: ds.object}
	return ds
}

func (ds *daemonSet) pod(n *node) *pod {
	p := ds.w.newPod(ds, ds.object, ds.Namespace, ds.Name+"-"+ds.w.suffix(), ds.spec, n)
	ds.pods[n.index()] = p
	return p
}

func (ds *daemonSet) state() State {
	s := State{Replicas: len(ds.pods), Updated: len(ds.pods)}
	for _, p := range ds.pods {
		if p != nil && p.ready {
			s.Ready++
		}
	}
	return s
}

func (ds *daemonSet) writeStatus() {
	s := ds.state()
	if s.Ready == ds.shown.Ready {
		return
	}
	ds.shown = s
	ds.w.emit(ds.object, oplog.TypeStatus, s)
}

func (ds *daemonSet) restart() {
	w := ds.w
	start := w.rng.IntN(len(ds.pods))
	for i := range ds.pods {
		if p := ds.pods[(start+i)%len(ds.pods)]; p.ready && !p.on.down {
			w.record(ds.fate, "SuccessfulDelete", p.Name)
			w.terminate(p)
			return
		}
	}
}

func (ds *daemonSet) changed(p *pod) {
	w := ds.w
	w.touch(&ds.status)
	if !p.gone {
		return
	}
	w.after(w.draw(w.tn.Writers.Delay), func() {
		n := ds.pod(p.on)
		w.start(n, ds.object)
		w.record(ds.fate, "SuccessfulCreate", n.Name)
	})
}
