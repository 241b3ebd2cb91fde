package capacity

import (
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/model"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// load is what a cell's load wrote, by its op log.
type load struct {
	keys   map[model.Key]int64 // acknowledged writes of each pod
	events []event             // of pods, in the order of their times
}

// event is one that the watcher was to receive.
type event struct {
	at    time.Duration // from the dispatch of the load's first write of a pod
	queue int           // by the hash
}

// readLoad reads the op log of a cell's folder, nil where there is none. An event arrives when
// its write was acknowledged. A deletion is two events, the first of which is the state with the
// deletion time, unless that was asked for before or the API server is simulated.
func readLoad(folder string, s *spec.Scenario) (*load, error) {
	ops, err := history.Ops(folder)
	if ops == nil || err != nil {
		return nil, err
	}
	l := &load{keys: map[model.Key]int64{}}
	first, asked := int64(0), map[string]bool{}
	for op, err := range ops {
		switch {
		case err != nil:
			return nil, err
		case op.Phase != oplog.PhaseLoad || op.Kind != podKind || !op.OK():
			continue
		}
		if first == 0 || op.Started < first {
			first = op.Started
		}
		k := model.Key{Namespace: op.Namespace, Name: op.Name}
		l.keys[k]++
		e := event{at: time.Duration(op.Finished), queue: model.Partition(k, s.Watcher.PodQueueNum)}
		l.events = append(l.events, e)
		switch {
		case op.Type == oplog.TypeTerminate:
			asked[op.UID] = true
		case op.Type == oplog.TypeDelete && !s.Simulated() && !asked[op.UID]:
			l.events = append(l.events, e)
		}
	}
	for i := range l.events {
		l.events[i].at -= time.Duration(first)
	}
	slices.SortStableFunc(l.events, func(a, b event) int { return int(a.at - b.at) })
	return l, nil
}
