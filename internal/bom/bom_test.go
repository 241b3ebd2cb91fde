package bom

import (
	"errors"
	"os"
	"path/filepath"
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
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
