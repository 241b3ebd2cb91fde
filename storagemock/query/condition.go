package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// Condition selects documents.
type Condition interface{ Match(Document) bool }

// All matches what every one of its conditions matches.
type All []Condition

// Match is true for no conditions.
func (a All) Match(d Document) bool {
	for _, c := range a {
		if !c.Match(d) {
			return false
		}
	}
	return true
}

// AnyOf matches what one of its conditions matches.
type AnyOf []Condition

// Match is false for no conditions.
func (a AnyOf) Match(d Document) bool {
	for _, c := range a {
		if c.Match(d) {
			return true
		}
	}
	return false
}

// Not matches what its condition does not.
type Not struct{ Condition }

// Match inverts.
func (n Not) Match(d Document) bool { return !n.Condition.Match(d) }

// In matches when the value at Path, or an element of it when it is an array, is
// one of Values. A null among Values also matches a missing value.
type In struct {
	Path   Path
	Values [][]byte // JSON
}

// Equal is In with one value.
func Equal(path string, value []byte) In { return In{ParsePath(path), [][]byte{value}} }

// OneOf is In with texts.
func OneOf(path string, texts []string) In {
	in := In{Path: ParsePath(path)}
	for _, t := range texts {
		in.Values = append(in.Values, rawjson.AppendString(nil, t))
	}
	return in
}

// Match looks at every value the path leads to.
func (in In) Match(d Document) bool {
	missing := true
	for v := range in.Path.Values(d) {
		missing = false
		if slices.ContainsFunc(in.Values, func(want []byte) bool { return equal(v, want) }) {
			return true
		}
		for e := range rawjson.Elements(v) {
			if slices.ContainsFunc(in.Values, func(want []byte) bool { return equal(e, want) }) {
				return true
			}
		}
	}
	return missing && slices.ContainsFunc(in.Values, func(want []byte) bool { return rawjson.KindOf(want) == rawjson.Null })
}

// Exists matches when the path leads somewhere.
type Exists struct{ Path Path }

// Match needs one value.
func (e Exists) Match(d Document) bool {
	for range e.Path.Values(d) {
		return true
	}
	return false
}

// Contains matches when a text at Path contains Text.
type Contains struct {
	Path Path
	Text string
}

// Match looks at strings only.
func (c Contains) Match(d Document) bool {
	for v := range c.Path.Values(d) {
		if rawjson.KindOf(v) == rawjson.String && strings.Contains(rawjson.Unquote(v), c.Text) {
			return true
		}
	}
	return false
}

// Order is a comparison.
type Order struct {
	Path  Path
	Op    string // lt, lte, gt, gte
	Value []byte
}

// Match compares values of one type: numbers, or texts; of two texts that are
// both times, the times.
func (o Order) Match(d Document) bool {
	for v := range o.Path.Values(d) {
		c, ok := Compare(v, o.Value)
		if !ok {
			continue
		}
		switch o.Op {
		case "lt":
			ok = c < 0
		case "lte":
			ok = c <= 0
		case "gt":
			ok = c > 0
		case "gte":
			ok = c >= 0
		}
		if ok {
			return true
		}
	}
	return false
}

// Compare orders two JSON values; ok is false when they cannot be ordered.
func Compare(a, b []byte) (c int, ok bool) {
	ka, kb := rawjson.KindOf(a), rawjson.KindOf(b)
	switch {
	case ka == rawjson.Number && kb == rawjson.Number:
		var x, y float64
		if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
			return 0, false
		}
		switch {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, true
	case ka == rawjson.String && kb == rawjson.String:
		x, y := rawjson.Unquote(a), rawjson.Unquote(b)
		tx, errX := time.Parse(time.RFC3339Nano, x)
		ty, errY := time.Parse(time.RFC3339Nano, y)
		if errX == nil && errY == nil {
			return tx.Compare(ty), true
		}
		return strings.Compare(x, y), true
	}
	return 0, false
}

// TimeValue is a time as documents carry it: RFC 3339 with up to milliseconds.
func TimeValue(t time.Time) []byte {
	b := make([]byte, 0, 32)
	b = append(b, '"')
	b = t.UTC().Truncate(time.Millisecond).AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

func equal(a, b []byte) bool {
	ka, kb := rawjson.KindOf(a), rawjson.KindOf(b)
	if ka != kb {
		return false
	}
	switch ka {
	case rawjson.String:
		return bytes.Equal(a, b) || rawjson.Unquote(a) == rawjson.Unquote(b)
	case rawjson.Number:
		c, ok := Compare(a, b)
		return ok && c == 0
	case rawjson.Object, rawjson.Array:
		var x, y any
		return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
	}
	return bytes.Equal(a, b)
}

// maxTree bounds the conditions of one request.
const maxTree = 1000

// ParseTree reads the condition tree of a multi-cluster query:
// {"Op":"and","Children":[{"Op":"eq","Value":{"path":value}}]}, keys in any case.
func ParseTree(raw []byte) (Condition, error) {
	n := 0
	return parseTree(raw, &n)
}

func parseTree(raw []byte, n *int) (Condition, error) {
	if *n++; *n > maxTree {
		return nil, fmt.Errorf("more than %d conditions", maxTree)
	}
	var node struct {
		Op       string
		Value    map[string]json.RawMessage
		Children []json.RawMessage
	}
	if err := json.Unmarshal(raw, &node); err != nil {
		return nil, fmt.Errorf("a condition is not {op, value, children}: %w", err)
	}
	if len(node.Children) > 0 {
		return parseBranch(node.Op, node.Children, n)
	}
	var all All
	for path, value := range node.Value {
		c, err := leaf(node.Op, path, value)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func parseBranch(op string, raw []json.RawMessage, n *int) (Condition, error) {
	var children []Condition
	for _, r := range raw {
		c, err := parseTree(r, n)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	switch strings.ToLower(op) {
	case "and", "tr", "":
		return All(children), nil
	case "or":
		return AnyOf(children), nil
	case "nor", "not":
		return Not{AnyOf(children)}, nil
	}
	return nil, fmt.Errorf("condition op %q: want and, or, nor or not over children", op)
}

func leaf(op, path string, value []byte) (Condition, error) {
	p := ParsePath(path)
	switch op = strings.ToLower(op); op {
	case "tr":
		return All{}, nil
	case "eq":
		return In{p, [][]byte{value}}, nil
	case "ne":
		return Not{In{p, [][]byte{value}}}, nil
	case "in", "nin":
		if rawjson.KindOf(value) != rawjson.Array {
			return nil, fmt.Errorf("condition %s of %s: want a list of values", op, path)
		}
		in := In{Path: p}
		for e := range rawjson.Elements(value) {
			in.Values = append(in.Values, e)
		}
		if op == "nin" {
			return Not{in}, nil
		}
		return in, nil
	case "exists":
		if string(value) == "false" {
			return Not{Exists{p}}, nil
		}
		return Exists{p}, nil
	case "con":
		return Contains{p, rawjson.Text(value)}, nil
	case "lt", "lte", "gt", "gte":
		return Order{p, op, value}, nil
	}
	return nil, fmt.Errorf("condition op %q: want eq, ne, in, nin, lt, lte, gt, gte, con or exists", op)
}
