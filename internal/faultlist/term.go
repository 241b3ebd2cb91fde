package faultlist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// Parse reads terms with read. positional are the arguments that an effect takes
// without a key; example shows a term with a probability. Empty text is none.
func Parse[S any](text, example string, positional map[string][]string, read func(*Term) (S, error)) ([]S, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var specs []S
	for _, part := range expr.Split(text, ',') {
		t, err := parseTerm(strings.TrimSpace(part), example, positional)
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

func parseTerm(part, example string, positional map[string][]string) (*Term, error) {
	t := &Term{Text: part, Probability: 1}
	pieces := expr.Split(part, ':')
	if len(pieces) > 2 {
		return nil, fmt.Errorf("%q: more than one colon; want effect(arguments):probability, like %s", part, example)
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
	t.Args = expr.Read(pieces[0], t.Call, positional[t.Call.Name]...)
	return t, nil
}

// CommonArgs are the arguments that Common reads.
var CommonArgs = append(slices.Clone(WindowArgs), "max", "name")

// Common reads the arguments that all faults take.
func (t *Term) Common() Fault {
	f := Fault{Text: t.Text, Window: ReadWindow(t.Args), Max: t.Args.Int("max", 0, 0), Name: t.Args.Text("name", t.Name())}
	if !utf8.ValidString(f.Name) || len(f.Name) > maxName {
		t.Args.Fail("name", "name=%q: want at most %d bytes of text", f.Name, maxName)
	}
	return f
}

// Status reads an effect that is a status from 400 to 599, with retry-after in whole
// seconds; known names all effects for the error of a term that is none.
func (t *Term) Status(known string) (status int, retryAfter time.Duration) {
	status, err := strconv.Atoi(t.Call.Name)
	if err != nil || status < 400 || status > 599 || len(t.Call.Name) != 3 {
		t.Args.Fail("", "%s is no fault; want %s", t.Call.Name, known)
	}
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

// Delay reads a duration of at most MaxDelay; one that is required is not 0. example
// shows a term that has it.
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

// CheckRefusal returns an error about a refusal of all connections that has a
// probability or filters, or no end.
func (t *Term) CheckRefusal(f Fault, filtered bool) error {
	switch {
	case t.Likely || filtered:
		return fmt.Errorf("%q: it concerns all connections during its time; it takes from, for, every and max only", t.Text)
	case f.For == 0:
		return fmt.Errorf("%q: it needs for, the time it lasts; write gone(60s) or refuse(for=60s)", t.Text)
	}
	return nil
}

// Name is the effect with what stands in parentheses without a key.
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
