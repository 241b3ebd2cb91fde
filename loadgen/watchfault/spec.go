package watchfault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/units"
)

// Effect is what a fault does.
type Effect string

// The effects; see the package's grammar.
const (
	Status     Effect = "status"
	StartGone  Effect = "410(start)"
	PageGone   Effect = "410(page)"
	HTML       Effect = "html"
	NoStream   Effect = "no-stream"
	Older      Effect = "older"
	Stall      Effect = "stall"
	BlackHole  Effect = "blackhole"
	Close      Effect = "close"
	Reset      Effect = "reset"
	Silent     Effect = "silent"
	Pace       Effect = "pace"
	NoBookmark Effect = "no-bookmark"
	MidGone    Effect = "410(mid)"
	ErrorEvent Effect = "error"
	Truncate   Effect = "truncate"
	Unknown    Effect = "unknown"
	Junk       Effect = "junk"
	Refuse     Effect = "refuse"
)

// class is what a fault is drawn for.
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

// effects says what each effect is drawn for and which requests it can hit. The
// first reach verbs are hit where no filter says otherwise.
var effects = map[Effect]struct {
	class class
	verbs []string
	reach int // 0: all verbs
}{
	Status:     {perRequest, allVerbs, 4},
	HTML:       {perRequest, allVerbs, 4},
	Stall:      {perRequest, allVerbs, 4},
	BlackHole:  {perRequest, allVerbs, 4},
	StartGone:  {perRequest, []string{Watch, Stream}, 1},
	PageGone:   {perRequest, []string{Page}, 0},
	NoStream:   {perRequest, []string{Stream}, 0},
	Older:      {perRequest, []string{List, Watch, Stream}, 0},
	Close:      {perWatch, []string{Watch, Stream}, 0},
	Reset:      {perWatch, []string{Watch, Stream, List, Page, Other}, 2},
	Silent:     {perWatch, []string{Watch, Stream}, 0},
	Pace:       {perWatch, []string{Watch, Stream, List, Page}, 0},
	NoBookmark: {perWatch, []string{Stream}, 0},
	MidGone:    {perEvent, []string{Watch, Stream}, 0},
	ErrorEvent: {perEvent, []string{Watch, Stream}, 0},
	Truncate:   {perEvent, []string{Watch, Stream}, 0},
	Unknown:    {perEvent, []string{Watch, Stream}, 0},
	Junk:       {perEvent, []string{Watch, Stream}, 0},
	Refuse:     {perServer, nil, 0},
}

// maxDelay bounds the durations of a fault.
const maxDelay = time.Hour

// Spec is one fault as it was written. It is immutable.
type Spec struct {
	Text        string // as written
	Name        string // for the counts
	Effect      Effect
	Probability float64

	Status     int           // Status, HTML, ErrorEvent
	RetryAfter time.Duration // Status; 0 is no header
	Delay      time.Duration // Stall
	After      time.Duration // Close, Reset: earliest end; Silent: begin
	Until      time.Duration // Close, Reset: latest end
	Hold       time.Duration // Silent: 0 is for good
	Versions   uint64        // Older
	Rate       int64         // Pace, bytes per second
	Initial    bool          // events before a streaming list's closing bookmark too

	Verbs []string // never empty, except for Refuse
	Kinds []string // plurals as in URLs; empty is all

	faultlist.Window
	Max int // firings; 0 is unlimited
}

// EndsWatches reports whether a watch that the fault hits ends, without an event, some
// time after it was opened.
func (s Spec) EndsWatches() bool { return s.Effect == Close || s.Effect == Reset }

const knownEffects = "a status from 400 to 599, 410(start|page|mid), html, no-stream, older, stall, blackhole, close, reset, silent, pace, " +
	"no-bookmark, error, truncate, unknown, junk or gone"

// Parse reads faults. Empty text is none.
func Parse(text string) ([]Spec, error) {
	return faultlist.Parse(text, "410(mid):5%", positional, read)
}

func read(t *faultlist.Term) (Spec, error) {
	s := Spec{Text: t.Text, Probability: t.Probability}
	r := t.Args
	own := s.effect(t.Call.Name, r)
	s.filters(r)
	s.Name = r.Text("name", t.Name())
	if err := r.Err(slices.Concat(own, faultlist.WindowArgs, []string{"kind", "verb", "max", "name"})...); err != nil {
		return s, err
	}
	if s.Effect == Refuse {
		switch {
		case t.Likely || len(s.Kinds)+len(s.Verbs) > 0:
			return s, fmt.Errorf("%q: it concerns all connections during its time; it takes from, for, every and max only", t.Text)
		case s.For == 0:
			return s, fmt.Errorf("%q: for, the time it lasts, is missing; write gone(60s)", t.Text)
		}
	}
	return s, nil
}

// positional are the arguments an effect takes without a key.
var positional = map[string][]string{
	"410": {"at"}, "stall": {"delay"}, "older": {"versions"}, "close": {"after", "until"}, "reset": {"after", "until"},
	"silent": {"hold"}, "pace": {"rate"}, "gone": {"for"},
}

// effect reads the effect and its own arguments, whose names it returns for error
// messages.
func (s *Spec) effect(name string, r *expr.Reader) (own []string) {
	s.Effect = Effect(name)
	switch s.Effect {
	case Stall:
		s.Delay = duration(r, "delay", true)
	case Older:
		if !r.Has("versions") {
			r.Fail("", "how many versions is missing; write older(200)")
		}
		s.Versions = uint64(r.Int("versions", 1, 1))
	case Close, Reset:
		s.After = duration(r, "after", s.Effect == Close)
		s.Until = r.Duration("until", s.After)
		if s.Until < s.After || s.Until > maxDelay {
			r.Fail("until", "until=%s: want from %s to %s", s.Until, s.After, maxDelay)
		}
	case Silent:
		s.Hold = duration(r, "hold", r.Has("hold"))
		s.After = duration(r, "after", false)
		own = []string{"after"}
	case Pace:
		s.rate(r)
	case HTML:
		s.Status = r.Int("status", 200, 502)
		own = []string{"status"}
	case ErrorEvent:
		s.Status = r.Int("status", 400, 500)
		s.initial(r)
		own = []string{"status", "initial"}
	case Truncate, Unknown, Junk:
		s.initial(r)
		own = []string{"initial"}
	case BlackHole, NoStream, NoBookmark:
	case Refuse, "gone":
		s.Effect = Refuse
	default:
		own = s.status(name, r)
	}
	if s.Status > 599 {
		r.Fail("status", "status=%d: want 200 to 599", s.Status)
	}
	return own
}

func (s *Spec) status(name string, r *expr.Reader) (own []string) {
	n, err := strconv.Atoi(name)
	if err != nil || n < 400 || n > 599 || len(name) != 3 {
		r.Fail("", "%s is no fault; want %s", name, knownEffects)
		return nil
	}
	s.Effect, s.Status = Status, n
	switch at := r.Text("at", ""); {
	case at == "" || n != 410:
	case at == "start":
		s.Effect = StartGone
	case at == "page":
		s.Effect = PageGone
	case at == "mid":
		s.Effect = MidGone
		s.initial(r)
		own = []string{"initial"}
	default:
		r.Fail("at", "at=%s: want start, page or mid, or none for any request", at)
	}
	if s.Effect == Status {
		s.RetryAfter = r.Duration("retry-after", 0)
		if s.RetryAfter%time.Second != 0 {
			r.Fail("retry-after", "retry-after=%s: the header counts whole seconds", s.RetryAfter)
		}
		own = []string{"retry-after"}
	}
	return own
}

func (s *Spec) initial(r *expr.Reader) {
	switch v := r.Text("initial", "false"); v {
	case "true":
		s.Initial = true
	case "false":
	default:
		r.Fail("initial", "initial=%s: want true or false", v)
	}
}

func (s *Spec) rate(r *expr.Reader) {
	if !r.Has("rate") {
		r.Fail("", "the bytes per second are missing; write pace(64KiB)")
	}
	size, err := units.ParseSize(r.Text("rate", "1B"))
	if err != nil || size < 1 {
		r.Fail("rate", "want bytes per second of at least 1, like 64KiB")
	}
	s.Rate = int64(size)
}

// duration reads a delay of at most an hour; one that is required is not 0.
func duration(r *expr.Reader, key string, required bool) time.Duration {
	if required && !r.Has(key) {
		r.Fail("", "%s is missing; write the duration first, like close(5s)", key)
	}
	d := r.Duration(key, 0)
	if d > maxDelay || required && d == 0 {
		r.Fail(key, "%s=%s: want more than 0 and at most %s", key, d, maxDelay)
	}
	return d
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
	s.Window = faultlist.ReadWindow(r)
	s.Max = r.Int("max", 0, 0)
}

// plural guesses the name in URLs of a Kind, which is told by its first letter.
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
