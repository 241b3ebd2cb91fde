package behavior

import (
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/faultlist"
)

// Effect is the kind of misbehavior of a fault.
type Effect string

// The effects.
const (
	Status    Effect = "status"
	Reset     Effect = "reset"
	BlackHole Effect = "blackhole"
	Stall     Effect = "stall"
	Late      Effect = "late"
	Double    Effect = "double"
	Truncate  Effect = "truncate"
	HTML      Effect = "html"
	Interim   Effect = "interim"
	Refuse    Effect = "refuse"
)

// FaultSpec is one fault as it was written. It is immutable.
type FaultSpec struct {
	faultlist.Fault // its name is for the ledger and the metrics
	Effect          Effect

	Status     int           // Status, HTML, Interim; Late: the answer given at once, 0 is none
	RetryAfter time.Duration // Status; 0 is no header
	Apply      bool          // the request is applied although its answer fails
	Delay      time.Duration // Stall, Late, Double
	ResetFirst bool          // Late: reset at once
	Pieces     int           // Interim: answers before the final one
	Interim    int           // status of these
	Bytes      int           // Truncate: sent, -1 is half

	Match Match
	Key   string  // glob; empty is any
	Keys  float64 // share of keys; 1 is all
	// Instance misbehaves, numbered as in the ledger; -1 means all.
	Instance int
}

// Effects are the names of the faults besides statuses from 400 to 599.
var Effects = []string{"reset", "reset-after", "blackhole", "stall", "late", "double", "truncate", "html", "interim",
	"refuse"}

// ParseFaults reads faults. Empty text is none.
func ParseFaults(text string) ([]FaultSpec, error) {
	return faultlist.Parse(text, faultGrammar, readFault)
}

func readFault(t *faultlist.Term) (FaultSpec, error) {
	s := FaultSpec{Bytes: -1}
	s.effect(t)
	s.filters(t.Args)
	s.Fault = t.Common()
	if err := t.Args.Err(); err != nil {
		return s, err
	}
	if s.Refuses = s.Effect == Refuse; s.Refuses {
		return s, t.CheckRefusal(s.Fault, s.filtered())
	}
	return s, nil
}

var faultGrammar = faultlist.Grammar{Effects: Effects, Example: "503:1%", Positional: map[string][]string{
	"stall": {"delay"}, "late": {"delay"}, "double": {"delay"},
	"interim": {"code"},
}}

// effect reads the effect and the arguments of its own.
func (s *FaultSpec) effect(t *faultlist.Term) {
	r := t.Args
	s.Effect = Effect(t.Call.Name)
	switch s.Effect {
	case Reset, BlackHole:
		s.Apply = r.Bool("apply", false)
	case "reset-after":
		s.Effect, s.Apply = Reset, true
	case Stall:
		s.Delay = t.Delay("delay", true, "stall(5s)")
	case Late:
		s.Delay = t.Delay("delay", true, "stall(5s)")
		s.answer(r)
	case Double:
		s.Delay = t.Delay("delay", false, "")
	case Truncate:
		s.Bytes = r.Int("bytes", 0, -1)
	case HTML:
		s.Status = t.Answer(200, 502)
		s.Apply = r.Bool("apply", false)
	case Interim:
		if s.Interim = r.Int("code", 100, 100); s.Interim > 199 || s.Interim == 101 {
			r.Fail("code", "code=%d: want 100 to 199 without 101, for example interim(103)", s.Interim)
		}
		s.Pieces = r.Int("times", 1, 1)
		s.Status = t.Answer(200, 200)
	case Refuse:
	default:
		s.Effect = Status
		s.Status, s.RetryAfter = t.Status()
		s.Apply = r.Bool("apply", false)
	}
}

func (s *FaultSpec) answer(r *expr.Reader) {
	switch v := r.Text("answer", "none"); v {
	case "none":
	case "reset":
		s.ResetFirst = true
	default:
		n, err := strconv.Atoi(v)
		if err != nil || n != 200 && (n < 400 || n > 599) {
			r.Fail("answer", "answer=%s: want none, reset, 200 or a status from 400 to 599", v)
		}
		s.Status = n
	}
}

func (s *FaultSpec) filters(r *expr.Reader) {
	for _, key := range []string{"method", "kind"} {
		v := r.Text(key, "")
		if v == "" {
			continue
		}
		m, err := ParseMatch(key + "=" + v)
		if err != nil {
			r.Fail(key, "%v", err)
		}
		s.Match.Methods = append(s.Match.Methods, m.Methods...)
		s.Match.Kinds = append(s.Match.Kinds, m.Kinds...)
	}
	s.Key = r.Text("key", "")
	if _, err := path.Match(s.Key, ""); err != nil {
		r.Fail("key", "key=%s: not a glob like team-a/web-*: %v", s.Key, err)
	}
	s.Keys = r.Probability("keys", 1)
	s.Instance = r.Int("instance", 0, -1)
}

func (s *FaultSpec) filtered() bool {
	return len(s.Match.Methods)+len(s.Match.Kinds) > 0 || s.Key != "" || s.Keys != 1 || s.Instance >= 0
}

// Cut is how many bytes of a body of that length a Truncate lets through.
func (s *FaultSpec) Cut(length int) int {
	if s.Bytes < 0 {
		return length / 2
	}
	return min(s.Bytes, length)
}

// Page is the body that a proxy in front of a server sends with that status.
func Page(status int) []byte {
	return fmt.Appendf(
		nil, "<html>\r\n<head><title>%[1]d</title></head>\r\n<body><center><h1>%[1]d</h1></center></body>\r\n</html>\r\n",
		status)
}
