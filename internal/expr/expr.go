// Package expr parses the little call expressions that latencies, capacities and
// faults are written in: name, name(arg, key=arg), where an argument is a word or
// again an expression.
package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxNesting bounds expressions inside expressions.
const maxNesting = 16

// Expr is one parsed expression. A word is an Expr without arguments and with
// Call false.
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

// word reads up to a delimiter, or a quoted string.
func (p *parser) word() (string, error) {
	p.space()
	if p.i < len(p.in) && (p.in[p.i] == '"' || p.in[p.i] == '\'') {
		quote, start := p.in[p.i], p.i+1
		n := strings.IndexByte(p.in[start:], quote)
		if n < 0 {
			return "", p.fail(p.i, "the quote is not closed")
		}
		p.i = start + n + 1
		return p.in[start : start+n], nil
	}
	start := p.i
	for p.i < len(p.in) && !strings.ContainsRune("(),=", rune(p.in[p.i])) {
		p.i++
	}
	w := strings.TrimSpace(p.in[start:p.i])
	if w == "" {
		return "", p.fail(start, "want a name or a value")
	}
	return w, nil
}

func (p *parser) expr(nesting int) (Expr, error) {
	if nesting > maxNesting {
		return Expr{}, p.fail(p.i, "expressions nest deeper than %d", maxNesting)
	}
	p.space()
	e := Expr{Pos: p.i}
	var err error
	if e.Name, err = p.word(); err != nil {
		return e, err
	}
	if p.space(); p.i >= len(p.in) || p.in[p.i] != '(' {
		return e, nil
	}
	e.Call = true
	open := p.i
	p.i++
	if p.space(); p.i < len(p.in) && p.in[p.i] == ')' {
		p.i++
		return e, nil
	}
	for {
		a, err := p.arg(nesting + 1)
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, a)
		p.space()
		switch {
		case p.i >= len(p.in):
			return e, p.fail(open, "the parenthesis is not closed")
		case p.in[p.i] == ',':
			p.i++
		case p.in[p.i] == ')':
			p.i++
			return e, nil
		default:
			return e, p.fail(p.i, "want a comma or a closing parenthesis")
		}
	}
}

func (p *parser) arg(nesting int) (Arg, error) {
	p.space()
	a := Arg{Pos: p.i}
	e, err := p.expr(nesting)
	if err != nil {
		return a, err
	}
	if p.space(); p.i >= len(p.in) || p.in[p.i] != '=' {
		a.Value = e
		return a, nil
	}
	if e.Call {
		return a, p.fail(a.Pos, "want key=value; %s(…) cannot be a key", e.Name)
	}
	p.i++
	a.Key = e.Name
	a.Value, err = p.expr(nesting)
	return a, err
}

// Reader reads the arguments of a call by key or position and remembers what was
// not asked for. The first mistake sticks; ask Err at the end.
type Reader struct {
	in    string
	e     Expr
	names []string // positional order
	used  []bool
	err   error
}

// Read starts reading e, which was parsed from in. names gives the keys that
// positional arguments stand for.
func Read(in string, e Expr, names ...string) *Reader {
	r := &Reader{in: in, e: e, names: names, used: make([]bool, len(e.Args))}
	seen := map[string]bool{}
	positional := 0
	for i, a := range e.Args {
		key := a.Key
		if key == "" {
			if positional >= len(names) {
				r.fail(a.Pos, "too many arguments to %s: it takes %s", e.Name, r.takes())
				return r
			}
			key = names[positional]
			positional++
			r.e.Args = slices.Clone(r.e.Args)
			r.e.Args[i].Key = key
		}
		if seen[key] {
			r.fail(a.Pos, "%s is given twice", key)
		}
		seen[key] = true
	}
	return r
}

func (r *Reader) takes() string {
	if len(r.names) == 0 {
		return "none by position"
	}
	return strings.Join(r.names, ", ")
}

func (r *Reader) fail(pos int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{r.in, pos, fmt.Sprintf(format, args...)}
	}
}

// Fail reports a mistake in the value of key, or in the whole call if key is "".
func (r *Reader) Fail(key, format string, args ...any) {
	pos := r.e.Pos
	for _, a := range r.e.Args {
		if a.Key == key && key != "" {
			pos = a.Value.Pos
		}
	}
	r.fail(pos, format, args...)
}

// Has reports whether key was given.
func (r *Reader) Has(key string) bool { _, ok := r.peek(key); return ok }

func (r *Reader) peek(key string) (int, bool) {
	for i, a := range r.e.Args {
		if a.Key == key {
			return i, true
		}
	}
	return 0, false
}

// Expr takes the argument as it was parsed.
func (r *Reader) Expr(key string) (Expr, bool) {
	i, ok := r.peek(key)
	if !ok {
		return Expr{}, false
	}
	r.used[i] = true
	return r.e.Args[i].Value, true
}

func (r *Reader) text(key string) (string, bool) {
	e, ok := r.Expr(key)
	if ok && e.Call {
		r.fail(e.Pos, "%s takes a plain value, not %s(…)", key, e.Name)
		return "", false
	}
	return e.Name, ok
}

// Text takes a word; def when it is absent.
func (r *Reader) Text(key, def string) string {
	if s, ok := r.text(key); ok {
		return s
	}
	return def
}

// Duration takes a duration of at least 0; def when it is absent.
func (r *Reader) Duration(key string, def time.Duration) time.Duration {
	s, ok := r.text(key)
	if !ok {
		return def
	}
	d, err := ParseDuration(s)
	if err != nil {
		r.Fail(key, "%s=%s: %v", key, s, err)
	}
	return d
}

// Float takes a finite number; def when it is absent.
func (r *Reader) Float(key string, def float64) float64 {
	s, ok := r.text(key)
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.Fail(key, "%s=%s is not a number", key, s)
	}
	return f
}

// Int takes an integer from least on; def when it is absent.
func (r *Reader) Int(key string, least, def int) int {
	s, ok := r.text(key)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		r.Fail(key, "%s=%s: want a whole number of at least %d", key, s, least)
	}
	return n
}

// Bool takes true or false; def when it is absent.
func (r *Reader) Bool(key string, def bool) bool {
	switch v := r.Text(key, strconv.FormatBool(def)); v {
	case "true":
		return true
	case "false":
	default:
		r.Fail(key, "%s=%s: want true or false", key, v)
	}
	return false
}

// Probability takes a share such as 5% or 0.05; def when it is absent.
func (r *Reader) Probability(key string, def float64) float64 {
	s, ok := r.text(key)
	if !ok {
		return def
	}
	p, err := ParseProbability(s)
	if err != nil {
		r.Fail(key, "%s=%s: %v", key, s, err)
	}
	return p
}

// Err is the first mistake; arguments nobody asked for are one.
func (r *Reader) Err(known ...string) error {
	for i, a := range r.e.Args {
		if !r.used[i] {
			r.fail(a.Pos, "%s does not take %s; it takes %s", r.e.Name, a.Key,
				strings.Join(append(slices.Clone(r.names), known...), ", "))
		}
	}
	return r.err
}

// ParseDuration reads a duration of at least 0 with its unit.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("not a duration; write a number and a unit, like 87ms or 5s")
	}
	if d < 0 {
		return 0, fmt.Errorf("a duration here is not negative")
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
