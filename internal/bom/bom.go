// Package bom reads text that may begin with a byte order mark: UTF-8's is skipped, and UTF-16 is
// an error that says so.
package bom

import (
	"bytes"
	"io/fs"
	"os"
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
