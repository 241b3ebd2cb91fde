// Package userfile is how files that users name are read and written: text is taken as editors on other systems save it
// (UTF-8's byte order mark is skipped; UTF-16, and any other encoding where all must be UTF-8, is an error that says
// so), and no output destroys what somebody else wrote.
package userfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"unicode/utf8"
)

// UTF16Error reports text that begins with UTF-16's byte order mark.
type UTF16Error struct{ BigEndian bool }

func (e *UTF16Error) Error() string {
	order := "little-endian"
	if e.BigEndian {
		order = "big-endian"
	}
	return "the text is in UTF-16 (" + order + "): save it as UTF-8"
}

// InvalidError is text that is not UTF-8 from a line on, the first of which is 1.
type InvalidError struct{ Line int }

func (e *InvalidError) Error() string {
	return "the text is not UTF-8, but perhaps Latin-1: save it as UTF-8"
}

// UTF8 is Text for what must be UTF-8 as a whole and begins with two characters of ASCII. Its
// error is a *UTF16Error, also without a mark, or an *InvalidError.
func UTF8(data []byte) ([]byte, error) {
	if len(data) > 3 && (data[0] == 0) != (data[1] == 0) && (data[0] == 0) == (data[2] == 0) &&
		(data[1] == 0) == (data[3] == 0) {
		return nil, &UTF16Error{BigEndian: data[0] == 0}
	}
	data, err := Text(data)
	n := 0
	for line := range bytes.Lines(data) {
		if n++; !utf8.Valid(line) {
			return nil, &InvalidError{Line: n}
		}
	}
	return data, err
}

// Line is the line that an error of UTF8 is about, 0 for all.
func Line(err error) int {
	if e, ok := errors.AsType[*InvalidError](err); ok {
		return e.Line
	}
	return 0
}

// Text returns data without a leading byte order mark. Its error is a *UTF16Error.
func Text(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return nil, &UTF16Error{}
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return nil, &UTF16Error{BigEndian: true}
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// ReadFile is os.ReadFile with Text; a *UTF16Error is wrapped in an *fs.PathError.
func ReadFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if data, err = Text(data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}
