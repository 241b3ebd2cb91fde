package live

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/watchbench/watchbench/internal/metric"
)

// Bottleneck is where changes wait, by the rule of docs/dashboard.md.
type Bottleneck struct {
	Where string `json:"where"` // one of the At constants
	Why   string `json:"why"`
}

// Where changes can wait.
const (
	AtNone     = "none"
	AtStorage  = "storage"
	AtWatch    = "watch stream"
	AtCPU      = "watcher CPU"
	AtWriter   = "Writer queue"
	AtHandler  = "one handler queue"
	AtInFlight = "requests in flight"
)

// Thresholds of the rule.
const (
	silentTooLong = 60.0 // seconds; 55 are normal of a quiet kind
	fewWaiting    = 10.0 // events that wait in a watcher that keeps up
	busyShare     = 0.9  // of the CPUs that the watcher may use
	skewShare     = 0.5  // of the events in all handler queues, in one
	skewQueues    = 4    // of a kind, at least
)

// bottleneck applies the first rule that holds; nil where the depth of no queue is known.
func bottleneck(f *Frame, text families) *Bottleneck {
	if f.Writer == nil && f.Handlers == nil {
		return nil
	}
	at := func(where, format string, args ...any) *Bottleneck {
		return &Bottleneck{where, fmt.Sprintf(format, args...)}
	}
	if leads := text.sum(metric.Leading, "", ""); leads != nil && *leads == 0 {
		return at(AtNone, "this replica stands by")
	}
	if up := text.sum(metric.StorageUp, "", ""); up != nil && *up == 0 {
		return at(AtStorage, "no endpoint answers as it should")
	}
	if silent, kind := text.largest(metric.WatchSilent); silent != nil && *silent > silentTooLong {
		return at(AtWatch, "nothing heard of %s for %.0f s", kind, *silent)
	}
	writer, handlers := ptr.Deref(f.Writer, 0), ptr.Deref(f.Handlers, 0)
	if writer+handlers < fewWaiting {
		return at(AtNone, "%.0f events wait", writer+handlers)
	}
	if cpus := text.sum(goProcs, "", ""); cpus != nil && f.CPU != nil && *f.CPU >= busyShare**cpus {
		return at(AtCPU, "%.2f of %.0f CPUs in use", *f.CPU, *cpus)
	}
	if writer > handlers {
		return at(AtWriter, "%.0f events wait in it, %.0f in the handler queues", writer, handlers)
	}
	if q := skewed(text.queues(), handlers); q != nil {
		return at(AtHandler, "%s holds %.0f of the %.0f events in the handler queues", plain(q.Name), q.Depth, handlers)
	}
	if f.InFlight != nil && *f.InFlight > 0 { // what waits although storage answers waits for one of these
		return at(AtInFlight, "all %.0f that its queues allow are in flight, and %.0f events wait: raise bcs.podQueueNum "+
			"(adaptive: bcs.maxInFlight) if storage can take more at once, else storage is the limit", *f.InFlight, handlers)
	}
	return at(AtStorage, "%.0f events in the handler queues wait for their turn in storage", handlers)
}

// skewed is the queue that holds most of all events, although its kind has several queues.
func skewed(all []Queue, handlers float64) *Queue {
	var deepest *Queue
	siblings := map[string]int{}
	for i := range all {
		q := &all[i]
		if q.Name == metric.WriterQueueHandler {
			continue
		}
		if kind, number := stem(q.Name); number != "" {
			siblings[kind]++
		}
		if deepest == nil || q.Depth > deepest.Depth {
			deepest = q
		}
	}
	if deepest == nil || deepest.Depth < skewShare*handlers {
		return nil
	}
	if kind, number := stem(deepest.Name); number == "" || siblings[kind] < skewQueues {
		return nil
	}
	return deepest
}
