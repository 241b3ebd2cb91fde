package strictyaml

import (
	"errors"
	"strings"
	"testing"
)

// TestByteOrderMark: one of UTF-8 is skipped, one of UTF-16 is named.
func TestByteOrderMark(t *testing.T) {
	f := &Format{Noun: "thing", Start: "a: 1", MaxBytes: 100, MaxDepth: 4, MaxNodes: 10}
	tree, err := f.Parse("x.yaml", []byte("\ufeffa: 1\n"))
	if err != nil || tree.Root.Content[0].Value != "a" {
		t.Errorf("UTF-8: %v", err)
	}
	for _, data := range []string{"\xff\xfea\x00:\x00 \x001\x00", "\xfe\xff\x00a\x00:\x00 \x001"} {
		var bad *Error
		if _, err := f.Parse("x.yaml", []byte(data)); !errors.As(err, &bad) || !strings.HasPrefix(bad.Problem, "the text is in UTF-16 (") {
			t.Errorf("UTF-16: %v", err)
		}
	}
}
