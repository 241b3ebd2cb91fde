package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
)

// scanFlat walks one JSON object without building anything: the two big files
// hold millions of lines, and encoding/json would take most of the judging time.
// Nested values are handed over as raw text.
func scanFlat(line []byte, field func(key []byte, v scalar) error) error {
	p := flat{b: line}
	p.space()
	if !p.take('{') {
		return p.wrong("an object")
	}
	p.space()
	if p.take('}') {
		return p.end()
	}
	for {
		p.space()
		key, err := p.value()
		if err != nil {
			return err
		}
		if key.kind != '"' {
			return p.wrong("a field name in quotes")
		}
		p.space()
		if !p.take(':') {
			return p.wrong("a colon")
		}
		p.space()
		v, err := p.value()
		if err != nil {
			return err
		}
		if err := field(key.text, v); err != nil {
			return fmt.Errorf("field %q: %w", key.text, err)
		}
		p.space()
		if p.take(',') {
			continue
		}
		if p.take('}') {
			return p.end()
		}
		return p.wrong("a comma or the end of the object")
	}
}

// scalar is one JSON value: kind is its first byte, text the content of a string
// (unescaped) or the raw text of anything else. It aliases the line.
type scalar struct {
	kind byte
	text []byte
}

var (
	errWantString = errors.New("want a string")
	errWantNumber = errors.New("want a whole number in range")
	errWantBool   = errors.New("want true or false")
)

// maxNesting bounds nested values; the formats here have none.
const maxNesting = 64

func (v scalar) str(in *interner) (string, error) {
	switch v.kind {
	case '"':
		return in.get(v.text), nil
	case 'n':
		return "", nil
	}
	return "", errWantString
}

func (v scalar) uint() (uint64, error) {
	if v.kind == 'n' {
		return 0, nil
	}
	if v.kind < '0' || v.kind > '9' {
		return 0, errWantNumber
	}
	var n uint64
	for _, c := range v.text {
		if c < '0' || c > '9' {
			return 0, errWantNumber
		}
		d := uint64(c - '0')
		if n > (1<<64-1-d)/10 {
			return 0, errWantNumber
		}
		n = n*10 + d
	}
	return n, nil
}

func (v scalar) int() (int64, error) {
	neg := v.kind == '-'
	if neg {
		if len(v.text) < 2 {
			return 0, errWantNumber
		}
		v = scalar{kind: v.text[1], text: v.text[1:]}
		if v.kind < '0' || v.kind > '9' {
			return 0, errWantNumber
		}
	}
	n, err := v.uint()
	if err != nil || n > 1<<63-1 {
		return 0, errWantNumber
	}
	if neg {
		return -int64(n), nil
	}
	return int64(n), nil
}

func (v scalar) bool() (bool, error) {
	switch v.kind {
	case 't':
		return true, nil
	case 'f', 'n':
		return false, nil
	}
	return false, errWantBool
}

type flat struct {
	b []byte
	i int
}

func (p *flat) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

func (p *flat) take(c byte) bool {
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *flat) wrong(want string) error {
	if p.i >= len(p.b) {
		return fmt.Errorf("the line ends where %s should stand", want)
	}
	return fmt.Errorf("column %d: %q where %s should stand", p.i+1, p.b[p.i], want)
}

func (p *flat) end() error {
	p.space()
	if p.i < len(p.b) {
		return p.wrong("the end of the line")
	}
	return nil
}

func (p *flat) value() (scalar, error) {
	if p.i >= len(p.b) {
		return scalar{}, p.wrong("a value")
	}
	start := p.i
	switch c := p.b[p.i]; {
	case c == '"':
		return p.quoted()
	case c == '-' || c >= '0' && c <= '9':
		for p.i < len(p.b) && isNumberByte(p.b[p.i]) {
			p.i++
		}
		return scalar{kind: c, text: p.b[start:p.i]}, nil
	case c == 't':
		return p.word("true")
	case c == 'f':
		return p.word("false")
	case c == 'n':
		return p.word("null")
	case c == '{' || c == '[':
		return p.nested()
	}
	return scalar{}, p.wrong("a value")
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (p *flat) word(w string) (scalar, error) {
	if len(p.b)-p.i < len(w) || string(p.b[p.i:p.i+len(w)]) != w {
		return scalar{}, p.wrong(w)
	}
	p.i += len(w)
	return scalar{kind: w[0], text: p.b[p.i-len(w) : p.i]}, nil
}

func (p *flat) quoted() (scalar, error) {
	start := p.i
	p.i++
	escaped := false
	for p.i < len(p.b) {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			if !escaped {
				return scalar{kind: '"', text: p.b[start+1 : p.i-1]}, nil
			}
			var s string
			if err := json.Unmarshal(p.b[start:p.i], &s); err != nil {
				return scalar{}, fmt.Errorf("column %d: %w", start+1, err)
			}
			return scalar{kind: '"', text: []byte(s)}, nil
		case c == '\\':
			escaped = true
			p.i += 2
		case c < ' ':
			return scalar{}, p.wrong("the rest of a string")
		default:
			p.i++
		}
	}
	return scalar{}, fmt.Errorf("column %d: the string does not end", start+1)
}

// nested skips an object or array and checks only its outline.
func (p *flat) nested() (scalar, error) {
	start := p.i
	var open []byte
	for p.i < len(p.b) {
		switch c := p.b[p.i]; c {
		case '"':
			if _, err := p.quoted(); err != nil {
				return scalar{}, err
			}
			continue
		case '{', '[':
			if len(open) == maxNesting {
				return scalar{}, fmt.Errorf("column %d: nested deeper than %d", p.i+1, maxNesting)
			}
			open = append(open, c+2) // '{'+2 is '}', '['+2 is ']'
		case '}', ']':
			if open[len(open)-1] != c {
				return scalar{}, p.wrong("the matching bracket")
			}
			open = open[:len(open)-1]
			if len(open) == 0 {
				p.i++
				return scalar{kind: p.b[start], text: p.b[start:p.i]}, nil
			}
		}
		p.i++
	}
	return scalar{}, fmt.Errorf("column %d: the value does not end", start+1)
}

// interner makes strings of bytes and reuses those seen lately. It is a bounded,
// direct-mapped cache: a miss costs an allocation, never memory that stays.
type interner struct {
	seed  maphash.Seed
	slots [internSlots]string
}

const internSlots = 1 << 14

func newInterner() *interner { return &interner{seed: maphash.MakeSeed()} }

func (in *interner) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	slot := &in.slots[maphash.Bytes(in.seed, b)%internSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
