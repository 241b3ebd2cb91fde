// Package expr parses the little call expressions that latencies, capacities and faults are written in: name, name(arg,
// key=arg), where an argument is a word or again an expression.
package expr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxNesting bounds expressions inside expressions.
const maxNesting = 16

// Expr is one parsed expression. A word is an Expr without arguments and with Call false.
type Expr struct {
	Name string // the word, or what stands before the parenthesis
	Call bool   // parentheses followed
	Args []Arg
	Pos  int // byte in the input
}

// Arg is an argument; Key is empty for a positional one.
type Arg struct {
	Key   string
	Value Expr
	Pos   int
}

// Error is a mistake in an expression, with its place and the remedy.
type Error struct {
	Input string
	Pos   int
	Msg   string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q, column %d: %s", e.Input, e.Pos+1, e.Msg)
}

// Parse reads exactly one expression.
func Parse(in string) (Expr, error) {
	p := parser{in: in}
	e, err := p.expr(0)
	if err != nil {
		return Expr{}, err
	}
	if p.space(); p.i < len(in) {
		return Expr{}, p.fail(p.i, "unexpected %q after the expression", in[p.i:])
	}
	return e, nil
}

type parser struct {
	in string
	i  int
}

func (p *parser) fail(pos int, format string, args ...any) error {
	return &Error{p.in, pos, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.i < len(p.in) && (p.in[p.i] == ' ' || p.in[p.i] == '\t') {
		p.i++
	}
}

// next takes a character, after spaces, if it is the next one.
func (p *parser) next(c byte) bool {
	if p.space(); p.i == len(p.in) || p.in[p.i] != c {
		return false
	}
	p.i++
	return true
}

// word reads up to a delimiter, or a quoted string.
func (p *parser) word() (string, error) {
	for _, quote := range []byte{'"', '\''} {
		start := p.i
		if !p.next(quote) {
			continue
		}
		text, _, closed := strings.Cut(p.in[p.i:], string(quote))
		if !closed {
			return "", p.fail(start, "the quote is not closed")
		}
		p.i += len(text) + 1
		return text, nil
	}
	n := strings.IndexAny(p.in[p.i:]+",", "(),=")
	text := strings.TrimSpace(p.in[p.i : p.i+n])
	if text == "" {
		return "", p.fail(p.i, "want a name or a value")
	}
	p.i += n
	return text, nil
}

func (p *parser) expr(nesting int) (e Expr, err error) {
	if nesting > maxNesting {
		return e, p.fail(p.i, "expressions nest deeper than %d", maxNesting)
	}
	p.space()
	e.Pos = p.i
	if e.Name, err = p.word(); err != nil {
		return e, err
	}
	open := p.i
	if e.Call = p.next('('); !e.Call || p.next(')') {
		return e, nil
	}
	for {
		a, err := p.arg(nesting + 1)
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, a)
		switch {
		case p.next(')'):
			return e, nil
		case p.i == len(p.in):
			return e, p.fail(open, "the parenthesis is not closed")
		case !p.next(','):
			return e, p.fail(p.i, "want a comma or a closing parenthesis")
		}
	}
}

func (p *parser) arg(nesting int) (a Arg, err error) {
	if a.Value, err = p.expr(nesting); err != nil {
		return a, err
	}
	if a.Pos = a.Value.Pos; !p.next('=') {
		return a, nil
	}
	if a.Key = a.Value.Name; a.Value.Call {
		return a, p.fail(a.Pos, "want key=value; %s(…) cannot be a key", a.Key)
	}
	a.Value, err = p.expr(nesting)
	return a, err
}

// Reader reads the arguments of a call by key or position. The first mistake sticks; ask Err at the end.
type Reader struct {
	in    string
	e     Expr
	names []string // positional order, then further keys in the order in which they are asked for
	used  []bool
	err   error
}

// Read starts reading e, which was parsed from in. names gives the keys that positional arguments stand for.
func Read(in string, e Expr, names ...string) *Reader {
	r := &Reader{in: in, e: e, names: slices.Clone(names), used: make([]bool, len(e.Args))}
	r.e.Args = slices.Clone(e.Args)
	takes := cmp.Or(strings.Join(names, ", "), "none by position")
	for i := range r.e.Args {
		a := &r.e.Args[i]
		if a.Key == "" {
			if len(names) == 0 {
				r.fail(a.Pos, "too many arguments to %s: it takes %s", e.Name, takes)
				return r
			}
			a.Key, names = names[0], names[1:]
		}
		if r.index(a.Key) < i {
			r.fail(a.Pos, "%s is given twice", a.Key)
		}
	}
	return r
}

func (r *Reader) fail(pos int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{r.in, pos, fmt.Sprintf(format, args...)}
	}
}

// Fail reports a mistake in the value of key, or in the whole call if key is "".
func (r *Reader) Fail(key, format string, args ...any) {
	pos := r.e.Pos
	if i := r.index(key); i >= 0 {
		pos = r.e.Args[i].Value.Pos
	}
	r.fail(pos, format, args...)
}

// Has reports whether key was given.
func (r *Reader) Has(key string) bool { return r.index(key) >= 0 }

func (r *Reader) index(key string) int {
	return slices.IndexFunc(r.e.Args, func(a Arg) bool { return a.Key == key })
}

// Expr takes the argument as it was parsed.
func (r *Reader) Expr(key string) (Expr, bool) {
	if !slices.Contains(r.names, key) {
		r.names = append(r.names, key)
	}
	i := r.index(key)
	if i < 0 {
		return Expr{}, false
	}
	r.used[i] = true
	return r.e.Args[i].Value, true
}

// take reads a plain value; def when it is absent.
func take[T any](r *Reader, key string, def T, read func(string) (T, error)) T {
	e, ok := r.Expr(key)
	if ok && e.Call {
		r.fail(e.Pos, "%s takes a plain value, not %s(…)", key, e.Name)
	}
	if !ok || e.Call {
		return def
	}
	v, err := read(e.Name)
	if err != nil {
		r.fail(e.Pos, "%s=%s: %v", key, e.Name, err)
	}
	return v
}

// Text takes a word; def when it is absent.
func (r *Reader) Text(key, def string) string {
	return take(r, key, def, func(s string) (string, error) { return s, nil })
}

// Duration takes a duration of at least 0; def when it is absent.
func (r *Reader) Duration(key string, def time.Duration) time.Duration {
	return take(r, key, def, ParseDuration)
}

// Float takes a finite number; def when it is absent.
func (r *Reader) Float(key string, def float64) float64 {
	return take(r, key, def, func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, errors.New("not a number")
		}
		return f, nil
	})
}

// Int takes an integer from least on; def when it is absent.
func (r *Reader) Int(key string, least, def int) int {
	return take(r, key, def, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			return n, fmt.Errorf("want a whole number of at least %d", least)
		}
		return n, nil
	})
}

// Bool takes true or false; def when it is absent.
func (r *Reader) Bool(key string, def bool) bool {
	return take(r, key, def, func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errors.New("want true or false")
		}
		return s == "true", nil
	})
}

// Probability takes a share such as 5% or 0.05; def when it is absent.
func (r *Reader) Probability(key string, def float64) float64 {
	return take(r, key, def, ParseProbability)
}

// Err is the first mistake; arguments nobody asked for are one.
func (r *Reader) Err() error {
	for i, a := range r.e.Args {
		if !r.used[i] {
			r.fail(a.Pos, "%s does not take %s; it takes %s", r.e.Name, a.Key, strings.Join(r.names, ", "))
		}
	}
	return r.err
}

// ParseDuration reads a duration of at least 0 with its unit.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("not a duration; write a number and a unit, like 87ms or 5s")
	}
	if d < 0 {
		return 0, errors.New("a duration here is not negative")
	}
	return d, nil
}

// ParseProbability reads 5%, 0.5% or 0.05.
func ParseProbability(s string) (float64, error) {
	num, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("not a probability; write 0%% to 100%%, or 0 to 1")
	}
	return p, nil
}

// Split cuts s at sep where sep is outside of parentheses and quotes.
func Split(s string, sep byte) []string {
	var parts []string
	depth, start := 0, 0
	var quote byte
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == sep && depth <= 0:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}
