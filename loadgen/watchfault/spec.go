package watchfault

import (
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/faultlist"
)

// Effect of a fault.
type Effect string

// The effects; see the package's grammar.
const (
	Status     Effect = "status"
	StartGone  Effect = "410(start)"
	NoStream   Effect = "no-stream"
	Older      Effect = "older"
	Stall      Effect = "stall"
	BlackHole  Effect = "blackhole"
	Close      Effect = "close"
	Reset      Effect = "reset"
	Silent     Effect = "silent"
	NoBookmark Effect = "no-bookmark"
	MidGone    Effect = "410(mid)"
	ErrorEvent Effect = "error"
	Truncate   Effect = "truncate"
	Unknown    Effect = "unknown"
	Junk       Effect = "junk"
	Lost       Effect = "lost"
	Refuse     Effect = "refuse"
)

type class int

const (
	perRequest class = iota
	perWatch
	perEvent
	perServer
)

// Verbs of requests, as filters name them.
const (
	List   = "list"
	Page   = "page"
	Watch  = "watch"
	Stream = "stream"
	Other  = "other"
)

var allVerbs = []string{List, Page, Watch, Stream, Other}

// effects says what each effect is drawn for and which requests it can hit. The first reach verbs are hit where no
// filter says otherwise.
var effects = map[Effect]struct {
	class class
	verbs []string
	reach int // 0: all verbs
}{
	Status:     {perRequest, allVerbs, 4},
	Stall:      {perRequest, allVerbs, 4},
	BlackHole:  {perRequest, allVerbs, 4},
	StartGone:  {perRequest, []string{Watch, Stream}, 1},
	NoStream:   {perRequest, []string{Stream}, 0},
	Older:      {perRequest, []string{Watch, Stream}, 0},
	Close:      {perWatch, []string{Watch, Stream}, 0},
	Reset:      {perWatch, []string{Watch, Stream, List, Page, Other}, 2},
	Silent:     {perWatch, []string{Watch, Stream}, 0},
	NoBookmark: {perWatch, []string{Stream}, 0},
	MidGone:    {perEvent, []string{Watch, Stream}, 0},
	ErrorEvent: {perEvent, []string{Watch, Stream}, 0},
	Truncate:   {perEvent, []string{Watch, Stream}, 0},
	Unknown:    {perEvent, []string{Watch, Stream}, 0},
	Junk:       {perEvent, []string{Watch, Stream}, 0},
	Lost:       {perEvent, []string{Watch, Stream}, 0},
	Refuse:     {perServer, nil, 0},
}

// Spec is one fault as it was written. It is immutable.
type Spec struct {
	faultlist.Fault
	Effect Effect

	Status     int           // Status
	RetryAfter time.Duration // Status; 0: no header
	Delay      time.Duration // Stall
	After      time.Duration // Close, Reset: earliest end
	Until      time.Duration // Close, Reset: latest end
	Hold       time.Duration // Silent: 0 is until the end
	Versions   uint64        // Older
	Type       string        // Lost: of the events, as in a watch; empty is all

	Verbs []string // never empty, except for Refuse
	Kinds []string // plurals as in URLs; empty is all
}

var eventTypes = []string{"ADDED", "MODIFIED", "DELETED"}

// Hits reports whether the fault is meant for objects of a Kind.
func (s Spec) Hits(kind string) bool {
	return len(s.Kinds) == 0 || slices.Contains(s.Kinds, plural(kind))
}

// EndsWatches reports whether a watch that the fault hits ends, without an event, some time after it was opened.
func (s Spec) EndsWatches() bool { return s.Effect == Close || s.Effect == Reset }

// Parse reads faults. Empty text is none.
func Parse(text string) ([]Spec, error) {
	return faultlist.Parse(text, grammar, read)
}

func read(t *faultlist.Term) (Spec, error) {
	var s Spec
	s.effect(t)
	s.filters(t.Args)
	s.Fault = t.Common()
	if err := t.Args.Err(); err != nil {
		return s, err
	}
	if s.Refuses = s.Effect == Refuse; s.Refuses {
		return s, t.CheckRefusal(s.Fault, len(s.Kinds)+len(s.Verbs) > 0)
	}
	return s, nil
}

var grammar = faultlist.Grammar{
	Effects: []string{"410(start|mid)", "no-stream", "older", "stall", "blackhole", "close", "reset", "silent",
		"no-bookmark", "error", "truncate", "unknown", "junk", "lost", "gone", "refuse"},
	Positional: map[string][]string{
		"410": {"at"}, "stall": {"delay"}, "older": {"versions"}, "close": {"after", "until"}, "reset": {"after", "until"},
		"silent": {"hold"}, "lost": {"type"}, "gone": {"for"},
	},
	Example: "410(mid):5%",
}

// effect reads the effect and its own arguments.
func (s *Spec) effect(t *faultlist.Term) {
	r := t.Args
	s.Effect = Effect(t.Call.Name)
	switch s.Effect {
	case Stall:
		s.Delay = t.Delay("delay", true, "stall(5s)")
	case Older:
		if !r.Has("versions") {
			r.Fail("", "how many versions is missing; write older(200)")
		}
		s.Versions = uint64(r.Int("versions", 1, 1))
	case Close, Reset:
		s.After = t.Delay("after", s.Effect == Close, "close(5s)")
		s.Until = r.Duration("until", s.After)
		if s.Until < s.After || s.Until > faultlist.MaxDelay {
			r.Fail("until", "until=%s: want from %s to %s", s.Until, s.After, faultlist.MaxDelay)
		}
	case Silent:
		s.Hold = t.Delay("hold", r.Has("hold"), "silent(30s)")
	case Lost:
		s.Type = strings.ToUpper(r.Text("type", ""))
		if s.Type != "" && !slices.Contains(eventTypes, s.Type) {
			r.Fail("type", "type=%s: want added, modified or deleted, or none for all", r.Text("type", ""))
		}
	case BlackHole, NoStream, NoBookmark, ErrorEvent, Truncate, Unknown, Junk:
	case Refuse, "gone":
		s.Effect = Refuse
	default:
		s.status(t)
	}
}

func (s *Spec) status(t *faultlist.Term) {
	s.Effect = Status
	if s.Status, s.RetryAfter = t.Status(); s.Status != 410 {
		return
	}
	switch at := t.Args.Text("at", ""); at {
	case "":
	case "start":
		s.Effect = StartGone
	case "mid":
		s.Effect = MidGone
	default:
		t.Args.Fail("at", "at=%s: want start or mid, or none for any request", at)
	}
}

func (s *Spec) filters(r *expr.Reader) {
	can := effects[s.Effect]
	s.Verbs = can.verbs
	if can.reach > 0 {
		s.Verbs = can.verbs[:can.reach]
	}
	if v := r.Text("verb", ""); v != "" {
		s.Verbs = strings.Split(strings.ToLower(v), "|")
		for _, verb := range s.Verbs {
			if !slices.Contains(can.verbs, verb) {
				r.Fail("verb", "verb=%s: %s hits %s", verb, s.Effect, strings.Join(can.verbs, "|"))
			}
		}
	}
	if v := r.Text("kind", ""); v != "" {
		for _, kind := range strings.Split(v, "|") {
			if kind == "" || strings.ContainsAny(kind, "/.") {
				r.Fail("kind", "kind=%s: want a Kind or a plural as in URLs, like Pod or pods", v)
				break
			}
			s.Kinds = append(s.Kinds, plural(kind))
		}
	}
}

// plural guesses the name in URLs of a Kind, which starts with a capital.
func plural(kind string) string {
	if kind[0] < 'A' || kind[0] > 'Z' {
		return kind
	}
	k := strings.ToLower(kind)
	if k == "endpoints" {
		return k
	}
	switch {
	case strings.HasSuffix(k, "s") || strings.HasSuffix(k, "x") || strings.HasSuffix(k, "ch"):
		return k + "es"
	case strings.HasSuffix(k, "y") && !strings.HasSuffix(k, "ey") && !strings.HasSuffix(k, "ay"):
		return k[:len(k)-1] + "ies"
	}
	return k + "s"
}
