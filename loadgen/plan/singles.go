package plan

import "fmt"

// single is a name that one pod after the other bears, as that of a StatefulSet's pod.
type single struct {
	w         *world
	namespace int
	name      string
	times     int // pods that had the name before
	spec      podSpec
	pod       *pod
}

func (w *world) newSingle(i int) *single {
	const perSet = 3
	return &single{w: w, namespace: w.namespace(), name: fmt.Sprintf("%s-db%d-%d",
		applications[i/perSet%len(applications)], i/perSet, i%perSet), spec: w.podSpec()}
}

// next is the next pod of the name, on the lane of the one before.
func (s *single) next() *pod {
	w := s.w
	p := w.newPod(s, nil, s.namespace, s.name, s.spec, nil)
	if s.pod != nil {
		s.times++
		p.Lane, p.Incarnation = s.pod.Lane, s.times
		p.last = s.pod.last
	}
	s.pod = p
	return p
}

// restart deletes the pod of some name; another takes it when the first is gone.
func (w *world) restartSingle() {
	start := w.rng.IntN(len(w.singles))
	for i := range w.singles {
		if s := w.singles[(start+i)%len(w.singles)]; s.pod.ready && !s.pod.on.down {
			w.terminate(s.pod)
			return
		}
	}
}

// changed implements workload.
func (s *single) changed(p *pod) {
	if !p.gone {
		return
	}
	w := s.w
	w.after(w.draw(w.tn.Writers.Delay), func() { w.start(s.next(), nil) })
}

var noises = []struct{ reason, text string }{
	{"Unhealthy", "readiness"}, {"Unhealthy", "liveness"}, {"BackOff", "pull"}, {"FailedMount", "volume"},
	{"FailedScheduling", "room"}, {"DNSConfigForming", "limits"}, {"Evicted", "disk"}, {"NodeNotReady", ""},
}

// noise is an Event about a pod that is there: one it had before, or another.
func (w *world) noise(about []*noisy) {
	if len(about) == 0 {
		return
	}
	n := about[w.rng.IntN(len(about))]
	if n.pod.gone {
		return
	}
	if n.reasons == 0 || w.rng.Float64() >= *w.tn.Events.Repeat {
		n.reasons++
	}
	which := noises[(n.first+w.rng.IntN(n.reasons))%len(noises)]
	w.record(&n.fate, which.reason, fmt.Sprint(which.text, n.reasons/len(noises)))
}

// noisy is a pod that Events are about.
type noisy struct {
	pod     *object
	fate    recorder
	first   int
	reasons int
}
