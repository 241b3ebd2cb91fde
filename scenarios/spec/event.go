package spec

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/internal/units"
)

// MaxEvents bounds a timeline.
const MaxEvents = 200

// Event is one thing done during the load; the next begins when it has ended. Package scenarios/faults declares the
// kinds.
type Event struct {
	At    Moment   `json:"at" jsonschema:"required" jsonschema_description:"Since the start of the load; of a range, a moment drawn by the seed."`
	What  string   `json:"what" jsonschema:"required" jsonschema_description:"The kind of event."`
	For   Duration `json:"for,omitzero" jsonschema_description:"sigstop: until SIGCONT. kill-storage: age of the restored snapshot. crash: how long pods fail."`
	Count int      `json:"count,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"Objects, rows, nodes, replicas or pods; default 1."`
	Bytes Size     `json:"bytes,omitzero" range:"..1450000B" jsonschema_description:"create-objects: JSON size of one pod."`
	Times int      `json:"times,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"kill-restart, term-restart: how often."`
	// PodQueueNum is of the watcher that starts, the lengths of the one that runs.
	PodQueueNum     int `json:"podQueueNum,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"start, kill-restart, term-restart: of the new watcher."`
	HandlerQueueLen int `json:"handlerQueueLen,omitempty" jsonschema:"minimum=1,maximum=16777216" jsonschema_description:"For Go tests (make robustness): of the running watcher."`
	WriterQueueLen  int `json:"writerQueueLen,omitempty" jsonschema:"minimum=1,maximum=16777216" jsonschema_description:"For Go tests (make robustness): of the running watcher."`
}

// Number is how many objects or rows an event concerns.
func (e Event) Number() int { return max(1, e.Count) }

// has reports whether an event has a field of that name in scenarios.
func (e Event) has(field string) bool {
	f, ok := strictyaml.FieldByName(reflect.TypeFor[Event](), field)
	return ok && !reflect.ValueOf(e).FieldByIndex(f.Index).IsZero()
}

// eventFields are those that not every kind takes: all but at and what.
var eventFields = strictyaml.FieldNames(reflect.TypeFor[Event]())[2:]

// EventKind is one kind of event that a scenario may ask for.
type EventKind struct {
	Name  string   // as scenarios spell it
	Takes []string // fields of an event that mean something to it, beside at and what
	// Available refuses an event at its place in the timeline, and notes in it what the event changes.
	Available func(*Timeline, Event) error
}

// Timeline is how far validation has followed a scenario's events.
type Timeline struct {
	*Scenario
	Runs    bool // a watcher runs
	Second  bool // another one runs beside it
	Secrets bool // an event plants secrets, which must turn up nowhere
	Repairs bool // after an event the synchronizer may have something to repair
	at      string
}

// Bad is a problem with a field of the event that is being validated; of the event itself with an empty field.
func (t *Timeline) Bad(field, remedy, format string, args ...any) error {
	path := t.at
	if field != "" {
		path += "." + field
	}
	return bad(path, remedy, format, args...)
}

// Need refuses the event unless a condition holds.
func (t *Timeline) Need(holds bool, problem, remedy string) error {
	if holds {
		return nil
	}
	return t.Bad("what", remedy, "%s", problem)
}

// OnlyAsserts refuses a fault that asserts other columns; why says what is wrong with those.
func (t *Timeline) OnlyAsserts(columns []string, why string) error {
	if t.Fault == nil {
		return nil
	}
	for i, c := range t.Fault.Assert {
		if !slices.Contains(columns, c) {
			return bad(fmt.Sprintf("fault.assert[%d]", i),
				"assert "+units.List(columns)+", and measure what else is to be shown", "the column %s %s", c, why)
		}
	}
	return nil
}

// validateEvents follows the timeline with the kinds that this program knows.
func (s *Scenario) validateEvents(kinds []EventKind) error {
	if len(s.Events) > MaxEvents {
		return bad("events", fmt.Sprintf("write at most %d, or use times", MaxEvents), "%d events", len(s.Events))
	}
	t := &Timeline{Scenario: s, Runs: true}
	last := time.Duration(0)
	for i, e := range s.Events {
		t.at = fmt.Sprintf("events[%d]", i)
		k := slices.IndexFunc(kinds, func(k EventKind) bool { return k.Name == e.What })
		if k < 0 {
			return t.Bad("what", oneOf(namesOf(kinds)), "%q is not known", e.What)
		}
		if e.At.From < last {
			return t.Bad("at", "write events in the order of their times", "%s is before the event above it", e.At.From)
		}
		last = e.At.From
		if err := t.fields(kinds, kinds[k], e); err != nil {
			return err
		}
		if err := kinds[k].Available(t, e); err != nil {
			return err
		}
	}
	if !t.Runs {
		return bad("events", "end with start: what is judged is where storage ends", "no watcher runs after the last event")
	}
	return cmp.Or(s.validateRepairs(t.Repairs), s.validateSecrecy(t.Secrets))
}

func namesOf(kinds []EventKind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// fields refuses fields of other kinds of events.
func (t *Timeline) fields(kinds []EventKind, kind EventKind, e Event) error {
	for _, f := range eventFields {
		if !e.has(f) || slices.Contains(kind.Takes, f) {
			continue
		}
		var owners []string
		for _, k := range kinds {
			if slices.Contains(k.Takes, f) {
				owners = append(owners, k.Name)
			}
		}
		return t.Bad(f, "it belongs to "+strings.Join(owners, ", "), "%s takes no %s", e.What, f)
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
