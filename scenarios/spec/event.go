package spec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// What an event does. Times count from the start of the load; an event begins when
// the one before it has ended.
const (
	EventTerm            = "sigterm"        // SIGTERM to the watcher, until it ended
	EventKill            = "sigkill"        // SIGKILL to the watcher
	EventStart           = "start"          // a new watcher, until storage has caught up
	EventKillRestart     = "kill-restart"   // both, times over
	EventTermRestart     = "term-restart"   // both, times over
	EventStop            = "sigstop"        // SIGSTOP, and SIGCONT after for
	EventTamperRemove    = "tamper-remove"  // rows taken out of storage
	EventTamperEdit      = "tamper-edit"    // rows changed in storage
	EventTamperAdd       = "tamper-add"     // rows of no object added to storage
	EventCreateObjects   = "create-objects" // pods beside the load
	EventDeleteObjects   = "delete-objects" // of those
	EventRecreate        = "recreate"       // delete and create under the same name
	EventDeleteNamespace = "delete-namespace"
	EventJoin            = "join"        // a second watcher beside the first
	EventLeave           = "leave"       // SIGTERM to it
	EventKillLeader      = "kill-leader" // SIGKILL to the replica that leads, until another has taken over
	EventResize          = "resize"      // other queues for the watcher that runs, until it says that it has them
	EventRotateCA        = "rotate-ca"   // storage gets a certificate of another CA, the watcher's ca-file follows
	// EventRotateToken: the watcher's token for the apiserver is replaced in its file,
	// and the former one is made invalid, until the apiserver refuses it.
	EventRotateToken = "rotate-token"
	// EventKillStorage: SIGKILL to storage, which comes back at once with what it held
	// some time before, until it has caught up.
	EventKillStorage   = "kill-storage"
	EventCRDAdd        = "crd-add"     // CustomResourceDefinitions at once, with objects of each
	EventCRDSwitch     = "crd-switch"  // served and stored version of the oldest ones from v1 to v2
	EventCRDUnserve    = "crd-unserve" // the oldest ones in no version, and again after for
	EventCRDRemove     = "crd-remove"  // the oldest ones
	EventChangeCustoms = "change-customs"
)

// Events lists what an event can do.
var Events = []string{
	EventTerm, EventKill, EventStart, EventKillRestart, EventTermRestart, EventStop, EventTamperRemove, EventTamperEdit, EventTamperAdd,
	EventCreateObjects, EventDeleteObjects, EventRecreate, EventDeleteNamespace, EventJoin, EventLeave, EventKillLeader, EventRotateCA, EventRotateToken, EventKillStorage,
	EventCRDAdd, EventCRDSwitch, EventCRDUnserve, EventCRDRemove, EventChangeCustoms, EventResize,
}

// counted are the events that concern a number of objects or rows.
var counted = append([]string{EventTamperRemove, EventTamperEdit, EventTamperAdd, EventCreateObjects, EventDeleteObjects, EventRecreate}, customEvents...)

// timed are the events that last.
var timed = []string{EventStop, EventKillStorage, EventCRDUnserve}

// MaxEvents and MaxTimes bound a timeline.
const (
	MaxEvents = 200
	MaxTimes  = 1000
)

// Event is one thing done to the watcher, the cluster or storage.
type Event struct {
	At    Moment   `json:"at" jsonschema:"required" jsonschema_description:"Since the start of the load: 2s, or 2s..5s for a moment drawn by the seed."`
	What  string   `json:"what" jsonschema:"required"`
	For   Duration `json:"for,omitzero" jsonschema_description:"sigstop: until SIGCONT. kill-storage: age of the snapshot that storage comes back with. crd-unserve: until served again, at least."`
	Count int      `json:"count,omitempty" jsonschema:"minimum=1" jsonschema_description:"Objects, rows or definitions; 1 where nothing is said."`
	Bytes Size     `json:"bytes,omitzero" jsonschema_description:"create-objects: JSON size of one pod."`
	Times int      `json:"times,omitempty" jsonschema:"minimum=1" jsonschema_description:"kill-restart, term-restart: how often."`
	Every Moment   `json:"every,omitzero" jsonschema_description:"kill-restart, term-restart: time that a new watcher gets before its end; drawn anew each time."`
	// PodQueueNum of the watcher that starts, where it is not to be the scenario's, or of
	// the one that runs from now on. The lengths are for the latter only.
	PodQueueNum     int `json:"podQueueNum,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"start, kill-restart, term-restart: of the new watcher; resize: of the one that runs."`
	HandlerQueueLen int `json:"handlerQueueLen,omitempty" jsonschema:"minimum=1" jsonschema_description:"resize."`
	WriterQueueLen  int `json:"writerQueueLen,omitempty" jsonschema:"minimum=1" jsonschema_description:"resize."`
}

// Number is how many objects or rows an event concerns.
func (e Event) Number() int { return max(1, e.Count) }

// Moment is a time, or a range from which one is drawn.
type Moment struct{ From, To time.Duration }

// UnmarshalText reads 2s or 2s..5s.
func (m *Moment) UnmarshalText(text []byte) error {
	from, to, ranged := strings.Cut(string(text), "..")
	var a, b Duration
	if err := a.UnmarshalText([]byte(from)); err != nil {
		return err
	}
	if b = a; ranged {
		if err := b.UnmarshalText([]byte(to)); err != nil {
			return err
		}
	}
	if b < a {
		return fmt.Errorf("%q ends before it begins; write the earlier time first, for example 2s..5s", text)
	}
	*m = Moment{a.Std(), b.Std()}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (m Moment) MarshalText() ([]byte, error) {
	if m.From == m.To {
		return Duration(m.From).MarshalText()
	}
	return []byte(Duration(m.From).String() + ".." + Duration(m.To).String()), nil
}

// IsZero is for omitzero.
func (m Moment) IsZero() bool { return m == Moment{} }

// Draw takes a moment of the range.
func (m Moment) Draw(rng *rand.Rand) time.Duration {
	if m.To <= m.From {
		return m.From
	}
	return m.From + time.Duration(rng.Int64N(int64(m.To-m.From)+1))
}

// JSONSchema describes both forms.
func (Moment) JSONSchema() *jsonschema.Schema {
	const one = `([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+`
	return &jsonschema.Schema{Type: "string", Pattern: `^` + one + `(\.\.` + one + `)?$`, Examples: []any{"2s", "2s..5s"}}
}

// JSONSchemaExtend lists what an event can do.
func (Event) JSONSchemaExtend(s *jsonschema.Schema) {
	if what, ok := s.Properties.Get("what"); ok {
		for _, e := range Events {
			what.Enum = append(what.Enum, e)
		}
	}
}

// validateEvents also follows which watchers run, so that a timeline which cannot be
// carried out is refused before anything is started.
func (s *Scenario) validateEvents() error {
	if len(s.Events) > MaxEvents {
		return bad("events", fmt.Sprintf("write at most %d, or use times", MaxEvents), "%d events", len(s.Events))
	}
	runs, second := true, false
	var defined definitions
	last := time.Duration(0)
	for i, e := range s.Events {
		at := fmt.Sprintf("events[%d]", i)
		if err := word(at+".what", e.What, Events...); err != nil {
			return err
		}
		if e.At.From < last {
			return bad(at+".at", "write events in the order of their times", "%s is before the event above it", e.At.From)
		}
		last = e.At.From
		if err := e.validateFields(at); err != nil {
			return err
		}
		needs := func(ok bool, problem, remedy string) error {
			if ok {
				return nil
			}
			return bad(at+".what", remedy, "%s", problem)
		}
		var err error
		switch e.What {
		case EventTerm, EventKill, EventKillRestart, EventTermRestart, EventStop, EventRotateCA, EventRotateToken, EventKillStorage, EventResize:
			err = needs(runs, e.What+" when no watcher runs", "start one first")
			runs = runs && e.What != EventTerm && e.What != EventKill
		case EventStart:
			err = needs(!runs, "start when a watcher runs", "end it first, or use join for a second one")
			runs = true
		case EventJoin:
			err = needs(!second, "join when a second watcher runs", "let it leave first")
			second = true
		case EventLeave:
			err = needs(second, "leave without a second watcher", "let one join first")
			second = false
		case EventKillLeader:
			err = needs(s.Watcher.Replicas > 1, "kill-leader without replicas", "set watcher.replicas: 2")
		}
		if err == nil && slices.Contains([]string{EventTamperRemove, EventTamperEdit, EventDeleteObjects, EventRecreate}, e.What) {
			err = needs(s.Extra.Pods > 0, e.What+" without objects of its own", "set extra.pods")
		}
		if err == nil && e.What == EventDeleteNamespace {
			err = needs(s.Extra.Namespaces > 1, "delete-namespace without a namespace to spare", "set extra.namespaces: 2")
		}
		if err == nil && e.What == EventResize {
			err = s.validateResize(at, e)
		}
		if err == nil && e.What == EventRotateCA {
			err = needs(s.Storage.TLS != "", "rotate-ca without TLS", "set storage.tls: valid")
		}
		if err == nil && e.What == EventKillStorage {
			sync := s.Watcher.Synchronizer
			err = firstError(
				needs(!sync.Disabled && sync.Period > 0, "kill-storage without a synchronizer whose round is known: nobody else finds what storage forgot", "set watcher.synchronizer.period: 3s"),
				needs(len(s.Storage.Faults) == 0, "kill-storage with storage.faults, which would not outlive it", "leave storage.faults out"),
				needs(s.Storage.Instances == 1, "kill-storage with several instances", "set storage.instances: 1"),
			)
		}
		if err == nil && e.What == EventRotateToken {
			err = firstError(
				needs(s.Extra.Namespaces > 0, "rotate-token without a namespace for the watcher's account", "set extra.namespaces: 1 and extra.pods"),
				needs(s.Watch.endsWatches(), "rotate-token while watches stay open: an open watch is not authenticated again", "set watch.faults: ['close(1s,3s)']"),
			)
		}
		if err == nil && slices.Contains(customEvents, e.What) {
			if err = needs(runs, e.What+" when no watcher runs", "start one first"); err == nil {
				err = needs(s.Extra.Namespaces > 0, e.What+" without a namespace for custom objects", "set extra: {namespaces: 1, pods: 1}")
			}
			if err == nil {
				err = defined.follow(at, e)
			}
		}
		if err != nil {
			return err
		}
	}
	if !runs {
		return bad("events", "end with start: what is judged is where storage ends", "no watcher runs after the last event")
	}
	return nil
}

// HasEvent reports whether something is done at all.
func (s *Scenario) HasEvent(what string) bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return e.What == what })
}

func (e Event) validateFields(at string) error {
	restarts := e.What == EventKillRestart || e.What == EventTermRestart
	for _, f := range []struct {
		field   string
		set, ok bool
		where   string
	}{
		{"for", e.For != 0, slices.Contains(timed, e.What), strings.Join(timed, ", ")},
		{"count", e.Count != 0, slices.Contains(counted, e.What), strings.Join(counted, ", ")},
		{"bytes", e.Bytes != 0, e.What == EventCreateObjects, EventCreateObjects},
		{"times", e.Times != 0, restarts, EventKillRestart + " and " + EventTermRestart},
		{"every", !e.Every.IsZero(), restarts, EventKillRestart + " and " + EventTermRestart},
		{"podQueueNum", e.PodQueueNum != 0, restarts || e.What == EventStart || e.What == EventResize,
			EventStart + ", " + EventKillRestart + ", " + EventTermRestart + " and " + EventResize},
		{"handlerQueueLen", e.HandlerQueueLen != 0, e.What == EventResize, EventResize},
		{"writerQueueLen", e.WriterQueueLen != 0, e.What == EventResize, EventResize},
	} {
		if f.set && !f.ok {
			return bad(at+"."+f.field, "it belongs to "+f.where, "%s takes no %s", e.What, f.field)
		}
	}
	switch {
	case e.What == EventStop && e.For == 0:
		return bad(at+".for", "write for example for: 3s", "missing: a watcher that is stopped for ever proves nothing")
	case e.What == EventKillStorage && e.For < Duration(1e9):
		return bad(at+".for", "write for example for: 2s: what storage took in this time is what it loses", "%s is too short", e.For)
	case e.What == EventCRDUnserve && e.For == 0:
		return bad(at+".for", "write for example for: 3s", "missing: it says how long nothing is served")
	case e.Times < 0 || e.Times > MaxTimes:
		return bad(at+".times", fmt.Sprintf("use 1 to %d", MaxTimes), "%d is out of range", e.Times)
	case e.Count < 0 || e.Count > 10_000:
		return bad(at+".count", "use 1 to 10000", "%d is out of range", e.Count)
	case e.Bytes > 1_450_000:
		return bad(at+".bytes", "use at most 1450000B: an apiserver takes no larger object", "%s is too large", e.Bytes)
	}
	for _, f := range []struct {
		field      string
		value, max int
	}{
		{"podQueueNum", e.PodQueueNum, 4096}, {"handlerQueueLen", e.HandlerQueueLen, 1 << 24}, {"writerQueueLen", e.WriterQueueLen, 1 << 24},
	} {
		if f.value != 0 {
			if err := within(at+"."+f.field, f.value, 1, f.max); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateResize refuses a change that nobody would make or notice.
func (s *Scenario) validateResize(at string, e Event) error {
	w := s.Watcher
	switch lengths := e.HandlerQueueLen != 0 || e.WriterQueueLen != 0; {
	case w.Command != "":
		return bad(at+".what", "leave watcher.command out", "resize of another watcher: only k8s-watch reads its configuration again")
	case w.Profile == "legacy":
		return bad(at+".what", "use the profile default", "resize under the profile legacy, which takes no change while it runs")
	case w.Replicas > 1:
		return bad(at+".what", "use one replica", "resize of %d replicas: it would concern one of them", w.Replicas)
	case e.PodQueueNum == 0 && !lengths:
		return bad(at, "write for example podQueueNum: 16", "resize to nothing")
	case e.PodQueueNum != 0 && (w.Strategy == "single" || w.Strategy == "adaptive"):
		return bad(at+".podQueueNum", "use another strategy, or change the lengths", "%s has no number of queues", w.Strategy)
	}
	return nil
}

// Largest is the watcher with the most queues and the longest ones that the run gives it.
func (s *Scenario) Largest() Watcher {
	w := s.Watcher
	for _, e := range s.Events {
		w.PodQueueNum = max(w.PodQueueNum, e.PodQueueNum)
		w.HandlerQueueLen = max(w.HandlerQueueLen, e.HandlerQueueLen)
		w.WriterQueueLen = max(w.WriterQueueLen, e.WriterQueueLen)
	}
	return w
}
