package result

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/watchbench/watchbench/internal/userfile"
)

// TestByteOrderMark: records that an editor saved with one of UTF-8 are read, and UTF-16 is named.
func TestByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	load := map[string]func() error{
		FileName:   func() error { _, err := LoadFile(dir); return err },
		MatrixFile: func() error { _, err := LoadMatrix(dir); return err },
		TuningFile: func() error { _, err := LoadTuning(filepath.Join(dir, TuningFile)); return err },
	}
	for name, text := range map[string]string{
		FileName: `{"schema": "other"}`, MatrixFile: `{"schema": "` + MatrixSchema + `"}`, TuningFile: `{"schema": "other"}`,
	} {
		result := func(mark string) error {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(mark+text), 0o600); err != nil {
				t.Fatal(err)
			}
			return load[name]()
		}
		var utf16 *userfile.UTF16Error
		plain, marked := result(""), result("\ufeff")
		if (plain == nil) != (marked == nil) || plain != nil && plain.Error() != marked.Error() {
			t.Errorf("%s: %v with a mark, %v without", name, marked, plain)
		}
		if err := result("\xfe\xff"); !errors.As(err, &utf16) || !utf16.BigEndian {
			t.Errorf("%s: UTF-16: %v", name, err)
		}
	}
}
