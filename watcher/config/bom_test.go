package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestByteOrderMark: both files are read with one of UTF-8, and UTF-16 is named.
func TestByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for name, load := range map[string]func() error{
		"main":   func() error { _, _, err := Load(path); return err },
		"filter": func() error { _, _, err := LoadFilter(path); return err },
	} {
		with := func(mark string) error {
			if err := os.WriteFile(path, []byte(mark+"{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			return load()
		}
		plain, marked := with(""), with("\ufeff")
		if (plain == nil) != (marked == nil) || plain != nil && plain.Error() != marked.Error() {
			t.Errorf("%s: %v with a mark, %v without", name, marked, plain)
		}
		var bad *Error
		if err := with("\xff\xfe"); !errors.As(err, &bad) || bad.File != path || !strings.Contains(bad.Msg, "UTF-16 (little-endian)") {
			t.Errorf("%s: UTF-16: %v", name, err)
		}
		if err := with("{\x00}\x00"); !errors.As(err, &bad) || !strings.Contains(bad.Msg, "UTF-16 (little-endian)") {
			t.Errorf("%s: UTF-16 without a mark: %v", name, err)
		}
		if err := with("{\"v\":\n \"\xe9\"}"); !errors.As(err, &bad) || bad.Line != 2 || !strings.Contains(bad.Msg, "the text is not UTF-8") {
			t.Errorf("%s: Latin-1: %v", name, err)
		}
	}
}
