package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	for _, tc := range []struct {
		data, want string
		utf16      *UTF16Error
	}{
		{"", "", nil},
		{"a\ufeffb", "a\ufeffb", nil},
		{"\ufeff{}", "{}", nil},
		{"\xff\xfe{\x00", "", &UTF16Error{}},
		{"\xfe\xff\x00{", "", &UTF16Error{BigEndian: true}},
	} {
		if err := os.WriteFile(path, []byte(tc.data), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		var utf16 *UTF16Error
		errors.As(err, &utf16)
		if string(got) != tc.want || (utf16 == nil) != (tc.utf16 == nil) || utf16 != nil && *utf16 != *tc.utf16 {
			t.Errorf("%q: %q, %v", tc.data, got, err)
		}
	}
	for text, want := range map[string]error{
		"{\n  \"ü\": \"caf\xe9\"}": &InvalidError{Line: 2},
		"{\x00}\x00":               &UTF16Error{},
		"\x00{\x00}":               &UTF16Error{BigEndian: true},
		"a\ufffd\x00b":             nil,
		"\ufeff{}":                 nil,
	} {
		if got, err := UTF8([]byte(text)); !reflect.DeepEqual(err, want) || err == nil && string(got) != strings.TrimPrefix(text, "\ufeff") {
			t.Errorf("%q: %q, %#v, want %#v", text, got, err, want)
		}
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
