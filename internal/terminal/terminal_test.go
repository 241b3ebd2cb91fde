package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "–…÷": 3, "監視": 4, "e\u0301": 1, "ｆｕｌｌ": 8, "a\u200bb": 2, "한국": 4, "🚀": 2} {
		if got := Columns(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"監視監視", 8, "監視監視"}, {"監視監視", 7, "監視監…"}, {"監視監視", 6, "監視…"}, {"e\u0301e\u0301e", 2, "e\u0301…"}, {"abc", 1, "…"}, {"abc", 0, ""},
	} {
		if got := Cut(tc.s, tc.n); got != tc.want || Columns(got) > tc.n {
			t.Errorf("%q in %d columns: %q, want %q", tc.s, tc.n, got, tc.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for _, tc := range []struct {
		env            string
		tty            bool
		color, inPlace bool
	}{
		{"TERM=xterm", true, true, true},
		{"TERM=xterm", false, false, true},
		{"TERM=xterm NO_COLOR=1", true, false, true},
		{"TERM=xterm NO_COLOR=1 CLICOLOR_FORCE=1", true, false, true},
		{"TERM=xterm NO_COLOR=", true, true, true},
		{"TERM=dumb", true, false, false},
		{"TERM=dumb CLICOLOR_FORCE=1", false, true, false},
		{"TERM=xterm CLICOLOR_FORCE=0", false, false, true},
		{"TERM=xterm CLICOLOR=0", true, false, true},
		{"TERM=xterm CI=true", true, true, false},
		{"TERM=xterm CI=false", true, true, true},
	} {
		env := func(name string) string {
			for f := range strings.FieldsSeq(tc.env) {
				if k, v, _ := strings.Cut(f, "="); k == name {
					return v
				}
			}
			return ""
		}
		if c, p := Color(env, tc.tty), InPlace(env); c != tc.color || p != tc.inPlace {
			t.Errorf("%s, terminal %v: color %v, in place %v", tc.env, tc.tty, c, p)
		}
	}
}

// shown is what stands on a terminal after the bytes were written to it, by line. A line that
// is wider than the terminal fails the test.
func shown(t *testing.T, out string, columns int) []string {
	t.Helper()
	lines, at := [][]rune{nil}, 0
	for _, r := range out {
		last := &lines[len(lines)-1]
		switch r {
		case '\n':
			lines, at = append(lines, nil), 0
		case '\r':
			at = 0
		case '\x1b':
			t.Fatalf("an escape sequence in %q", out)
		default:
			for len(*last) <= at {
				*last = append(*last, ' ')
			}
			(*last)[at] = r
			if at++; at > columns {
				t.Fatalf("%q is wider than %d columns", string(*last), columns)
			}
		}
	}
	var all []string
	for _, l := range lines {
		all = append(all, strings.TrimRight(string(l), " "))
	}
	return all
}

// TestLinesDoNotTearTheStatus: they stand above it, whoever writes them, and at the end nothing
// of it is left, even if the terminal became narrower meanwhile.
func TestLinesDoNotTearTheStatus(t *testing.T) {
	var out bytes.Buffer
	columns := 40
	s := New(&out, true, func() int { return columns })
	s.Status("cell 1 of 9, "+strings.Repeat("long ", 20), true)
	s.Line("an error")
	s.Status("cell 2 of 9, and more words than that", true)
	columns = 20
	s.Status("cell 3 of 9, and more words", true)
	if got := shown(t, out.String(), 40); len(got) != 2 || got[0] != "an error" || !strings.HasPrefix(got[1], "cell 3 of 9, and m…") {
		t.Errorf("the terminal shows %q", got)
	}
	out.Reset()
	s.Status("cell 4", true)
	s.Clear()
	if got := shown(t, out.String(), 20); len(got) != 1 || got[0] != "" || !strings.HasSuffix(out.String(), "\r") {
		t.Errorf("the terminal shows %q", got)
	}
}

// TestPlainLinesAreFew: where nothing can be drawn in place a status is a line, but not more
// often than every ten seconds, and lines of others count.
func TestPlainLinesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := New(&out, false, nil)
		for range 600 {
			s.Status("working", false)
			time.Sleep(100 * time.Millisecond)
		}
		if n := strings.Count(out.String(), "working\n"); n != 6 {
			t.Errorf("%d lines in a minute: %q", n, out.String())
		}
		s.Line("done")
		out.Reset()
		s.Status("working", false)
		if out.Len() > 0 {
			t.Errorf("%q right behind another line", out.String())
		}
		if s.Status("the next phase", true); out.String() != "the next phase\n" {
			t.Errorf("%q, forced", out.String())
		}
	})
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := New(&out, true, nil)
		began := time.Now()
		stop := s.Follow(func() string { return "building " + time.Since(began).String() })
		time.Sleep(3500 * time.Millisecond)
		stop()
		stop()
		if !strings.Contains(out.String(), "building 3s") {
			t.Errorf("%q", out.String())
		}
		if got := shown(t, out.String(), 80); len(got) != 1 || got[0] != "" {
			t.Errorf("%q is left", got)
		}
	})
}
