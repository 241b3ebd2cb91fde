package plan

import (
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

type job struct {
	w *world
	*object
	pods     []*pod
	spec     podSpec
	waiting  []*pod // that have ended and are not yet counted
	finished int
	shown    State
	done     bool
	status   controller
	fate     *recorder
}

func (w *world) startJob(pods int) {
	j := &job{w: w, spec: w.podSpec()}
	j.spec.probed = false // nobody waits for what runs to its end
	j.object = w.object(Target{
		Kind: "Job", Namespace: w.namespace(), Name: applications[w.index%int64(len(applications))] + "-job-" + w.suffix(),
		Seed:  j.spec.seed,
		Bytes: w.tn.Sizes.Job.Draw(w.rng), Spec: pods, Containers: j.spec.containers, InitContainers: j.spec.init,
	})
	j.fate = &recorder{about: j.object}
	j.status = controller{batch: w.tn.Writers.Job.Std(), write: j.sync}
	w.emit(j.object, oplog.TypeCreate, State{})
	w.after(w.draw(w.tn.Writers.Delay), func() {
		for range pods {
			j.add()
		}
		j.sync()
	})
}

func (j *job) changed(p *pod) {
	w := j.w
	switch {
	case p.gone, p.dying:
		if p.gone {
			j.pods = slices.DeleteFunc(j.pods, func(x *pod) bool { return x == p })
		}
		if !j.done && !p.ended && !p.replaced { // it was lost before it ended
			p.replaced = true
			w.after(w.draw(w.tn.Writers.Delay), func() { j.add() })
		}
	case p.ready && !p.runs: // one whose node was lost for a while goes on
		p.runs = true
		w.kubelet(p, w.life(w.tn.Jobs.Run.Draw(w.rng)), func() {
			p.ready = false
			w.stage(p, oplog.TypeStopped)
			w.touch(&j.status)
			w.kubelet(p, w.draw(w.tn.Stages.Final), func() {
				p.ended = true
				w.stage(p, oplog.TypeSucceeded)
				j.waiting = append(j.waiting, p)
				w.touch(&j.status)
			})
		})
	}
	if !j.done {
		w.touch(&j.status)
	}
}

func (j *job) add() {
	w := j.w
	p := w.newPod(j, j.object, j.Namespace, j.Name+"-"+w.suffix(), j.spec, nil)
	j.pods = append(j.pods, p)
	w.start(p, j.object)
	w.record(j.fate, "SuccessfulCreate", p.Name)
}

// sync is one round of the Job controller: what has ended is noted, loses its finalizer, and is counted.
func (j *job) sync() {
	w := j.w
	if j.done {
		return
	}
	s := State{Active: j.Spec - j.finished - len(j.waiting), Succeeded: j.finished}
	for _, p := range j.pods {
		if p.ready {
			s.Ready++
		}
	}
	if s.Active != j.shown.Active || s.Ready != j.shown.Ready || len(j.waiting) > 0 {
		j.shown = s
		w.emit(j.object, oplog.TypeStatus, s)
	}
	if len(j.waiting) == 0 {
		return
	}
	for _, p := range j.waiting {
		w.emit(p.object, oplog.TypeUnfinalized, State{Restarts: p.restarts}, j.object)
	}
	j.finished += len(j.waiting)
	j.waiting = nil
	if j.finished == j.Spec {
		j.finish()
		return
	}
	j.shown.Succeeded = j.finished
	w.emit(j.object, oplog.TypeStatus, j.shown)
}

func (j *job) finish() {
	w := j.w
	j.done = true
	w.emit(j.object, oplog.TypeSucceeded, State{Succeeded: j.finished})
	w.once(j.object, "Completed")
	w.after(w.life(w.tn.Jobs.TTL.Std()), func() {
		w.emit(j.object, oplog.TypeDelete, State{Succeeded: j.finished})
		w.after(w.draw(w.tn.Writers.Delay), func() {
			for _, p := range slices.Clone(j.pods) {
				if !p.dying {
					w.remove(p) // it has ended: nothing is waited for
				}
			}
		})
	})
}
