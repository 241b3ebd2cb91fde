package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCISaysWhatItLeavesOut: .ci/run names each test that is skipped unless a flag asks for it.
func TestCISaysWhatItLeavesOut(t *testing.T) {
	const root = "../.."
	script, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(script), "Not run here:")
	skip := regexp.MustCompile(`if (?:!\*(\w+)|\*(\w+) == (?:0|"")) \{\s+t\.Skip`)
	found := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "out"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		if data, err := os.ReadFile(path); err != nil {
			return err
		} else if m := skip.FindSubmatch(data); m != nil {
			found++
			name := variable(t, filepath.Dir(path), string(m[1])+string(m[2]))
			if !regexp.MustCompile(`Test\w+ -` + name + `\b`).MatchString(list) {
				t.Errorf("%s skips a test without -%s; .ci/run does not list it as not run", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("%d files with such a test, want at least 10: is the pattern still right?", found)
	}
}

// variable returns the name of the flag that a variable of a package's tests holds.
func variable(t *testing.T, dir, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`\b` + name + `\s*=\s*flag\.\w+\("([\w-]+)"`).FindSubmatch(data); m != nil {
			return string(m[1])
		}
	}
	t.Fatalf("no test of %s defines the flag of %s", dir, name)
	return ""
}
