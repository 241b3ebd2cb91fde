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
	EventRotateCA        = "rotate-ca"   // storage gets a certificate of another CA, the watcher's ca-file follows
)

// Events lists what an event can do.
var Events = []string{
	EventTerm, EventKill, EventStart, EventKillRestart, EventTermRestart, EventStop, EventTamperRemove, EventTamperEdit, EventTamperAdd,
	EventCreateObjects, EventDeleteObjects, EventRecreate, EventDeleteNamespace, EventJoin, EventLeave, EventKillLeader, EventRotateCA,
}

// counted are the events that concern a number of objects or rows.
var counted = []string{EventTamperRemove, EventTamperEdit, EventTamperAdd, EventCreateObjects, EventDeleteObjects, EventRecreate}

// MaxEvents and MaxTimes bound a timeline.
const (
	MaxEvents = 200
	MaxTimes  = 1000
)

// Event is one thing done to the watcher, the cluster or storage.
type Event struct {
	At    Moment   `json:"at" jsonschema:"required" jsonschema_description:"Since the start of the load: 2s, or 2s..5s for a moment drawn by the seed."`
	What  string   `json:"what" jsonschema:"required"`
	For   Duration `json:"for,omitzero" jsonschema_description:"sigstop: until SIGCONT."`
	Count int      `json:"count,omitempty" jsonschema:"minimum=1" jsonschema_description:"Objects or rows; 1 where nothing is said."`
	Bytes Size     `json:"bytes,omitzero" jsonschema_description:"create-objects: JSON size of one pod."`
	Times int      `json:"times,omitempty" jsonschema:"minimum=1" jsonschema_description:"kill-restart, term-restart: how often."`
	Every Moment   `json:"every,omitzero" jsonschema_description:"kill-restart, term-restart: time that a new watcher gets before its end; drawn anew each time."`
	// PodQueueNum of the watcher that starts, where it is not to be the scenario's.
	PodQueueNum int `json:"podQueueNum,omitempty" jsonschema:"minimum=1,maximum=4096"`
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
		case EventTerm, EventKill, EventKillRestart, EventTermRestart, EventStop, EventRotateCA:
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
		if err == nil && e.What == EventRotateCA {
			err = needs(s.Storage.TLS != "", "rotate-ca without TLS", "set storage.tls: valid")
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

func (e Event) validateFields(at string) error {
	restarts := e.What == EventKillRestart || e.What == EventTermRestart
	for _, f := range []struct {
		field   string
		set, ok bool
		where   string
	}{
		{"for", e.For != 0, e.What == EventStop, EventStop},
		{"count", e.Count != 0, slices.Contains(counted, e.What), strings.Join(counted, ", ")},
		{"bytes", e.Bytes != 0, e.What == EventCreateObjects, EventCreateObjects},
		{"times", e.Times != 0, restarts, EventKillRestart + " and " + EventTermRestart},
		{"every", !e.Every.IsZero(), restarts, EventKillRestart + " and " + EventTermRestart},
		{"podQueueNum", e.PodQueueNum != 0, restarts || e.What == EventStart, EventStart + ", " + EventKillRestart + " and " + EventTermRestart},
	} {
		if f.set && !f.ok {
			return bad(at+"."+f.field, "it belongs to "+f.where, "%s takes no %s", e.What, f.field)
		}
	}
	switch {
	case e.What == EventStop && e.For == 0:
		return bad(at+".for", "write for example for: 3s", "missing: a watcher that is stopped for ever proves nothing")
	case e.Times < 0 || e.Times > MaxTimes:
		return bad(at+".times", fmt.Sprintf("use 1 to %d", MaxTimes), "%d is out of range", e.Times)
	case e.Count < 0 || e.Count > 10_000:
		return bad(at+".count", "use 1 to 10000", "%d is out of range", e.Count)
	case e.Bytes > 1_450_000:
		return bad(at+".bytes", "use at most 1450000B: an apiserver takes no larger object", "%s is too large", e.Bytes)
	case e.PodQueueNum != 0:
		return within(at+".podQueueNum", e.PodQueueNum, 1, 4096)
	}
	return nil
}
