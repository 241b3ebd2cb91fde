package ndjson

import (
	"errors"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/userfile"
)

// TestByteOrderMark: one of UTF-8 is no part of the first line, one of UTF-16 is named.
func TestByteOrderMark(t *testing.T) {
	r, err := Sniff(strings.NewReader("\ufeff{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if line, err := r.Next(); err != nil || string(line) != "{}" {
		t.Errorf("UTF-8: %q, %v", line, err)
	}
	var utf16 *userfile.UTF16Error
	if _, err := Sniff(strings.NewReader("\xff\xfe{\x00")); !errors.As(err, &utf16) || utf16.BigEndian {
		t.Errorf("UTF-16: %v", err)
	}
}
