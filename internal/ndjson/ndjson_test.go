package ndjson

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pack(t testing.TB, text string) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll([]byte(text), nil)
}

func collect(r *Reader) (lines []string, err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		b, err := r.Next()
		if len(b) > 0 || err == nil {
			lines = append(lines, string(b))
		}
		if err != nil {
			return lines, err
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		name string
		text string
		want []string
		err  error
	}{
		{"nothing", "", nil, io.EOF},
		{"two lines, one of them empty", "a\n\n", []string{"a", ""}, io.EOF},
		{"a line as long as it may be", "a\n" + long + "\nb\n", []string{"a", long, "b"}, io.EOF},
		{"the last line has no end", "a\nb", []string{"a", "b"}, ErrNoNewline},
	} {
		packed := pack(t, c.text)
		for kind, in := range map[string][]byte{"plain": []byte(c.text), "zstd": packed, "two frames": append(slices.Clip(packed), pack(t, "")...)} {
			r, err := Sniff(bytes.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := collect(r)
			if !slices.Equal(got, c.want) || !errors.Is(err, c.err) || r.Line() < len(c.want) {
				t.Errorf("%s, %s: %d lines, at line %d, %v", c.name, kind, len(got), r.Line(), err)
			}
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for kind, text := range map[string][]byte{"plain": []byte("a\n"), "zstd": pack(t, "a\n")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := collect(r); !errors.Is(err, io.EOF) || !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
	}
}

func TestDamage(t *testing.T) {
	packed := pack(t, strings.Repeat("some line\n", 1000))
	broken := errors.New("broken disk")
	for name, c := range map[string]struct {
		in   io.Reader
		want error  // by errors.Is
		text string // or by text
	}{
		"compressed data cut short": {in: bytes.NewReader(packed[:len(packed)-3]), want: ErrCut},
		"a line without end":        {in: strings.NewReader(strings.Repeat("x", 2*MaxLine)), text: "longer than"},
		"the source fails":          {in: io.MultiReader(strings.NewReader("long enough\n"), iotest.ErrReader(broken)), want: broken},
	} {
		r, err := Sniff(c.in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = collect(r)
		if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := NewZstd(strings.NewReader("no zstd"), MaxLine)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := collect(r); err == nil || errors.Is(err, io.EOF) || lines != nil {
		t.Errorf("text that is not zstd: %q, %v", lines, err)
	}
}
