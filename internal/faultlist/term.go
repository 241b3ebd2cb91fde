package faultlist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/expr"
)

const (
	// Max bounds the faults in force at once.
	Max = 64
	// MaxDelay bounds the durations of a fault.
	MaxDelay = time.Hour
	maxName  = 100 // bytes
)

// Term is one fault as it was written.
type Term struct {
	Text        string
	Call        expr.Expr
	Args        *expr.Reader
	Probability float64
	Likely      bool // a probability was written
}

// Grammar describes the notation of a list of faults.
type Grammar struct {
	Effects    []string            // besides statuses from 400 to 599
	Positional map[string][]string // arguments that an effect takes without a key
	Example    string              // a term with a probability
}

// Parse reads terms with read. Empty text is none.
func Parse[S any](text string, g Grammar, read func(*Term) (S, error)) ([]S, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var specs []S
	for _, part := range expr.Split(text, ',') {
		t, err := g.term(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("fault %w", err)
		}
		s, err := read(t)
		if err != nil {
			return nil, fmt.Errorf("fault %w", err)
		}
		specs = append(specs, s)
	}
	if len(specs) > Max {
		return nil, fmt.Errorf("faults: %d; at most %d at once", len(specs), Max)
	}
	return specs, nil
}

func (g Grammar) term(part string) (*Term, error) {
	t := &Term{Text: part, Probability: 1}
	pieces := expr.Split(part, ':')
	if len(pieces) > 2 {
		return nil, fmt.Errorf("%q: more than one colon; want effect(arguments):probability, like %s", part, g.Example)
	}
	var err error
	if t.Likely = len(pieces) == 2; t.Likely {
		p := strings.TrimSpace(pieces[1])
		if t.Probability, err = expr.ParseProbability(p); err != nil {
			return nil, fmt.Errorf("%q: %s: %w", part, p, err)
		}
	}
	if t.Call, err = expr.Parse(pieces[0]); err != nil {
		return nil, err
	}
	name := t.Call.Name
	if status, err := strconv.Atoi(name); !slices.Contains(g.Effects, name) &&
		(err != nil || status < 400 || status > 599 || len(name) != 3) {
		remedy := badinput.Ask(badinput.Nearest(name, g.Effects),
			"want a status from 400 to 599, or "+strings.Join(g.Effects, ", "))
		return nil, &expr.Error{Input: pieces[0], Pos: t.Call.Pos, Msg: "unknown fault " + name + "; " + remedy}
	}
	t.Args = expr.Read(pieces[0], t.Call, g.Positional[name]...)
	return t, nil
}

// Common reads the arguments that all faults take, after those of the effect.
func (t *Term) Common() Fault {
	f := Fault{Text: t.Text, Probability: t.Probability, Window: readWindow(t.Args), Max: t.Args.Int("max", 0, 0),
		Name: t.Args.Text("name", t.Name())}
	if !utf8.ValidString(f.Name) || len(f.Name) > maxName {
		t.Args.Fail("name", "name=%q: want at most %d bytes of text", f.Name, maxName)
	}
	return f
}

// Status reads an effect that is a status, with retry-after in whole seconds.
func (t *Term) Status() (status int, retryAfter time.Duration) {
	status, _ = strconv.Atoi(t.Call.Name) // Parse takes no other
	retryAfter = t.Args.Duration("retry-after", 0)
	if retryAfter%time.Second != 0 {
		t.Args.Fail("retry-after", "retry-after=%s: the header counts whole seconds", retryAfter)
	}
	return status, retryAfter
}

// Answer reads the status of an answer, from least to 599; def when it is absent.
func (t *Term) Answer(least, def int) int {
	status := t.Args.Int("status", least, def)
	if status > 599 {
		t.Args.Fail("status", "status=%d: want 200 to 599", status)
	}
	return status
}

// Delay reads a duration of at most MaxDelay; one that is required is not 0. example shows a term that has it.
func (t *Term) Delay(key string, required bool, example string) time.Duration {
	if required && !t.Args.Has(key) {
		t.Args.Fail("", "%s is missing; write the duration first, like %s", key, example)
	}
	d := t.Args.Duration(key, 0)
	if d > MaxDelay || required && d == 0 {
		t.Args.Fail(key, "%s=%s: want more than 0 and at most %s", key, d, MaxDelay)
	}
	return d
}

// CheckRefusal returns an error about a refusal of all connections that has a probability or filters, or no end.
func (t *Term) CheckRefusal(f Fault, filtered bool) error {
	switch {
	case t.Likely || filtered:
		return fmt.Errorf("%q: it concerns all connections during its time; it takes from, for, every and max only", t.Text)
	case f.For == 0:
		return fmt.Errorf("%q: it needs for, the time it lasts; write gone(60s) or refuse(for=60s)", t.Text)
	}
	return nil
}

// Name is the effect with its arguments that have no key.
func (t *Term) Name() string {
	var args []string
	for _, a := range t.Call.Args {
		if a.Key == "" {
			args = append(args, a.Value.Name)
		}
	}
	if len(args) == 0 {
		return t.Call.Name
	}
	return t.Call.Name + "(" + strings.Join(args, ",") + ")"
}
