package replay

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/record"
)

// TraceSource plays a recorded trace. The initial state is all that was received up to the first complete list of the
// last resource; times count from there. What a recorder found out after a gap happens when it found it out. It is read
// once: Initial, then Events.
type TraceSource struct {
	in      *record.Reader
	header  record.Header
	next    func() (record.Frame, error, bool)
	stop    func()
	start   time.Duration
	pending int // resources whose first list is not complete
	synced  []bool
	id      int64
}

var _ Source = (*TraceSource)(nil)

// FromTrace opens a trace; Close it.
func FromTrace(path string) (*TraceSource, error) {
	in, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	s := &TraceSource{in: in, header: in.Header()}
	s.pending, s.synced = len(s.header.Resources), make([]bool, len(s.header.Resources))
	s.next, s.stop = iter.Pull2(in.Frames())
	return s, nil
}

// Extent is how many events a trace has after its first lists, and how long they take at speed 1x. It reads the whole
// trace.
func Extent(path string) (events int64, length time.Duration, err error) {
	s, err := FromTrace(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, err := range s.Initial() {
		if err != nil {
			return 0, 0, err
		}
	}
	for e, err := range s.Events() {
		if err != nil {
			return 0, 0, err
		}
		events, length = events+1, e.At
	}
	return events, length, nil
}

// Close frees what the source holds.
func (s *TraceSource) Close() error {
	s.stop()
	return s.in.Close()
}

// Resources returns the recorded ones, and the others that watchers of a cluster ask for.
func (s *TraceSource) Resources() []apisim.Resource {
	var all []apisim.Resource
	for _, r := range s.header.Resources {
		all = append(all, apisim.Resource{
			Group: r.Group, Versions: []string{r.Version}, Name: r.Name, Kind: r.Kind, Namespaced: r.Namespaced,
			Custom: custom(r.Group),
		})
	}
	for _, r := range apisim.BuiltIn() {
		if !slices.ContainsFunc(all, func(o apisim.Resource) bool { return o.Key() == r.Key() }) {
			all = append(all, r)
		}
	}
	return all
}

func custom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// Initial is the state in which the recording found the cluster.
func (s *TraceSource) Initial() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for s.pending > 0 {
			f, err, ok := s.next()
			switch {
			case !ok:
				yield(Event{}, errUnsynced)
				return
			case err != nil:
				yield(Event{}, err)
				return
			case f.Type == record.Synced && !s.synced[f.Resource]:
				s.synced[f.Resource] = true
				s.pending--
			}
			s.start = f.At
			if !s.pass(f, oplog.PhasePrepare, yield) {
				return
			}
		}
	}
}

var errUnsynced = errors.New("the trace ends before the first lists are complete: it holds no events")

// Events yields the frames after the initial state.
func (s *TraceSource) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			f, err, ok := s.next()
			switch {
			case !ok:
				return
			case err != nil:
				yield(Event{}, err)
				return
			case !s.pass(f, oplog.PhaseLoad, yield):
				return
			}
		}
	}
}

// pass yields the event of a frame, if it is one, and reports whether to go on.
func (s *TraceSource) pass(f record.Frame, phase string, yield func(Event, error) bool) bool {
	e := Event{At: max(f.At-s.start, 0), Object: f.Object}
	op := oplog.TypePatch
	switch f.Type {
	case record.Initial, record.Added:
		e.Type, op = Added, oplog.TypeCreate
	case record.Modified:
		e.Type = Modified
	case record.Deleted:
		e.Type, op = Deleted, oplog.TypeDelete
	default:
		return true
	}
	r := s.header.Resources[f.Resource]
	m := jsonscan.Lookup(f.Object, "metadata")
	member := func(name string) string { return jsonscan.Unquote(jsonscan.Lookup(m, name)) }
	e.Resource = apisim.Resource{Group: r.Group, Name: r.Name}.Key()
	e.Namespace, e.Name, e.UID = member("namespace"), member("name"), member("uid")
	if e.Name == "" {
		return yield(Event{}, fmt.Errorf("%s of %s at %s has no name", f.Type, r, f.At))
	}
	s.id++
	e.Op = oplog.Record{ID: s.id, Phase: phase, Type: op, Thread: plan.ThreadNone, Kind: r.Kind, Namespace: e.Namespace,
		Name: e.Name}
	return yield(e, nil)
}
