package scenarios

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLinks: every relative link of a page leads to a file, and its fragment to a heading.
func TestLinks(t *testing.T) {
	links := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "out" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" || strings.Contains(path, "/render/page/"): // templates
			return nil
		}
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(prose(t, path), -1) {
			to, err := url.Parse(m[1])
			if err != nil || to.Scheme != "" {
				continue
			}
			links++
			file := path
			if to.Path != "" {
				file = filepath.Join(filepath.Dir(path), to.Path)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s: %v", path, m[1], err)
			} else if to.Fragment != "" && !headings(prose(t, file))[to.Fragment] {
				t.Errorf("%s: %s: %s has no such heading", path, m[1], file)
			}
		}
		return nil
	})
	if err != nil || links < 50 {
		t.Errorf("%d links found, want more: %v", links, err)
	}
}

// prose is a page without its blocks of code.
func prose(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(string(data), "")
}

// headings are the fragments of a page's headings and of its own anchors.
func headings(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*)|<a (?:id|name)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		name := strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(plain), ""), " ", "-")
		for i := 1; all[name]; i++ {
			name = strings.TrimSuffix(name, "-"+strconv.Itoa(i-1)) + "-" + strconv.Itoa(i)
		}
		all[name+m[2]] = true
	}
	return all
}
