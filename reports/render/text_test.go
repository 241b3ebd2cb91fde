package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{fixed(nil, 1), unknown}, {fixed(new(0.0), 1), "0.0"}, {fixed(new(-0.04), 1), "0.0"}, {fixed(new(12.345), 1), "12.3"}, {fixed(new(-2.0), 0), "-2"},
		{short(0), "0.00"}, {short(0.0123), "0.012"}, {short(0.5), "0.50"}, {short(12.34), "12.3"}, {short(348.4), "348"}, {short(-0.5), "-0.50"},
		{percent(0.1289), "12.9 %"}, {plural(1, "cell"), "1 cell"}, {plural(2, "cell"), "2 cells"},
		{join([]string{"a"}), "a"}, {join([]string{"a", "b", "c"}), "a, b and c"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain – text": "plain – text", "a\nb\tc": "a b c", "\x1b[31m": "\ufffd[31m", "x\u202ey": "x\ufffdy", "\x00": "\ufffd", "a\u200bb": "a\ufffdb",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"a|b": `a\|b`, "<b>": "&lt;b&gt;", "[x](y)": `\[x\](y)`, "`c`": "\\`c\\`", "@user": "@\u200buser", "a\nb": "a b", "#12": `\#12`, "https://x": "https:\u200b//x",
	} {
		if got := md(in); got != want {
			t.Errorf("md(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAllWritesEveryFormat(t *testing.T) {
	dir := t.TempDir()
	if err := All(dir, fixture(t)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != len(Formats()) {
		t.Errorf("wrote %v (%v)", files, err)
	}
	for _, f := range Formats() {
		if info, err := os.Stat(filepath.Join(dir, f.File)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", f.File, info, err)
		}
		if got, err := Named(Formats(), f.Name); err != nil || got.File != f.File {
			t.Errorf("Named(%s) = %v, %v", f.Name, got, err)
		}
	}
	if _, err := Named(Formats(), "pdf", "table", "json"); err == nil || !strings.Contains(err.Error(), "known are table, json, html, md, csv, bench, junit") {
		t.Errorf("Named(pdf): %v", err)
	}
	if err := All(filepath.Join(dir, "missing"), fixture(t)); err == nil || strings.Count(err.Error(), "write report") != len(Formats()) {
		t.Errorf("All into a missing folder: %v", err)
	}
	broken := fixture(t)
	broken.Schema = "x"
	if err := All(dir, broken); err == nil {
		t.Error("All rendered another schema")
	}
}
