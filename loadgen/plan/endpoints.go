package plan

import (
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// maxEndpoints is how many endpoints the controller puts into one EndpointSlice.
const maxEndpoints = 100

type slice struct {
	*object
	d      *deployment
	pods   []*pod
	exists bool
	count  int
	shown  State
	writer controller
}

// endpoint has the slice of a pod written that got its address, became ready or no longer is, or has ended.
func (d *deployment) endpoint(p *pod) {
	s := p.slice
	switch {
	case s == nil && !p.addressed:
		return
	case s == nil:
		s = d.room()
		s.pods, p.slice = append(s.pods, p), s
	case !p.addressed:
		s.pods, p.slice = slices.DeleteFunc(s.pods, func(x *pod) bool { return x == p }), nil
	}
	d.w.touch(&s.writer)
}

// room is a slice that can take one more endpoint.
func (d *deployment) room() *slice {
	for _, s := range d.slices {
		if len(s.pods) < maxEndpoints {
			return s
		}
	}
	w := d.w
	s := &slice{d: d}
	s.object = w.object(Target{
		Kind: "EndpointSlice", Namespace: d.Namespace, Name: fmt.Sprintf("%s-%s", d.Name, w.suffix()), Seed: d.Seed,
		Owner: d.Target,
	})
	s.writer = controller{every: w.tn.Writers.EndpointSlice.Std(), write: s.write}
	d.slices = append(d.slices, s)
	return s
}

func (s *slice) write() {
	st, kind := s.state(), oplog.TypeUpdate
	switch {
	case !s.exists:
		kind, s.exists = oplog.TypeCreate, true
	case slices.Equal(st.Endpoints, s.shown.Endpoints) && slices.Equal(st.NotReady, s.shown.NotReady) &&
		slices.Equal(st.Leaving, s.shown.Leaving):
		return // what changed has changed back
	}
	st.Count, s.shown = s.count, st
	s.count++
	s.d.w.emit(s.object, kind, st, s.d.object)
}

func (s *slice) state() State {
	st := State{Endpoints: make([]*Target, len(s.pods))}
	for i, p := range s.pods {
		st.Endpoints[i] = p.Target
		if !p.ready {
			st.NotReady = append(st.NotReady, p.Target)
		}
		if p.dying {
			st.Leaving = append(st.Leaving, p.Target)
		}
	}
	return st
}
