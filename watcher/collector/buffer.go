package collector

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

const (
	// minBuffer is one TLS record: what a read returns at most.
	minBuffer = 16 << 10
	// keepBuffer is the largest buffer that outlives a burst or a large object.
	keepBuffer = 128 << 10
	// maxValue bounds what is read for one object or frame. etcd takes 1.5 MiB by
	// default; this leaves room for servers that are configured otherwise.
	maxValue = 64 << 20
)

var errTooLong = fmt.Errorf("one value is longer than %d bytes", maxValue)

// valueError is text that was read and cannot be understood, as opposed to a failure to read.
type valueError struct{ err error }

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// buffer reads JSON values from a stream. What it hands out is valid until the next call.
type buffer struct {
	src  io.Reader
	b    []byte
	r, w int // b[r:w] is read and not consumed
	// atLeast is how much one fill waits for: 1 for a watch, more for a list, where
	// the rest is on its way and each fill scans the last value again.
	atLeast int
}

// fill reads more. io.EOF means that nothing came and nothing is left.
func (f *buffer) fill() error {
	if f.r == f.w {
		f.r, f.w = 0, 0
		if len(f.b) > keepBuffer {
			f.b = nil
		}
	}
	if f.b == nil {
		f.b = make([]byte, max(minBuffer, 2*f.atLeast))
	}
	if len(f.b)-f.w < f.atLeast || f.w == len(f.b) {
		if f.r > 0 {
			copy(f.b, f.b[f.r:f.w])
			f.r, f.w = 0, f.w-f.r
		}
		if len(f.b)-f.w < max(f.atLeast, len(f.b)/4) {
			if len(f.b) >= maxValue {
				return &valueError{errTooLong}
			}
			grown := make([]byte, 2*len(f.b))
			copy(grown, f.b[:f.w])
			f.b = grown
		}
	}
	n, err := io.ReadAtLeast(f.src, f.b[f.w:], f.atLeast)
	f.w += n
	switch {
	case n > 0:
		return nil
	case err == io.EOF && f.r < f.w:
		return io.ErrUnexpectedEOF
	}
	return err
}

// skipSpace consumes white space between values.
func (f *buffer) skipSpace() {
	for f.r < f.w && (f.b[f.r] == '\n' || f.b[f.r] == ' ' || f.b[f.r] == '\r' || f.b[f.r] == '\t') {
		f.r++
	}
}

// parse runs step on what is there, and again with more as long as step finds that
// the text ends too early. It consumes what step passed.
func (f *buffer) parse(step func(s *jsonscan.Scanner, b []byte) error) error {
	try := true
	for {
		f.skipSpace()
		if f.r < f.w && try {
			s := jsonscan.At(f.b[:f.w], f.r)
			err := step(&s, f.b[:f.w])
			if err == nil {
				f.r = s.Pos()
				return nil
			}
			if !errors.Is(err, jsonscan.ErrUnexpectedEnd) {
				return &valueError{err}
			}
		}
		had := f.w - f.r
		err := f.fill()
		switch {
		case err == nil:
			try = f.mayEnd(f.b[f.r+had : f.w])
		case !try && errors.Is(err, io.ErrUnexpectedEOF):
			try = true // the last chance
		default:
			return err
		}
	}
}

// mayEnd reports whether a value may be complete now that fresh has come: a large object is not scanned again for each
// piece. A frame of a watch ends in a brace and, from an apiserver, a line break.
func (f *buffer) mayEnd(fresh []byte) bool {
	if f.atLeast > 1 || bytes.IndexByte(fresh, '\n') >= 0 {
		return true
	}
	trimmed := bytes.TrimRight(fresh, " \t\r")
	return len(trimmed) == 0 || trimmed[len(trimmed)-1] == '}'
}
