package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func letterOf(n int, body string) letter {
	return letter{Time: time.Unix(int64(n), 0).UTC(), ID: fmt.Sprintf("u:%d:ADDED", n), Why: Refused, Error: "why", Tries: 1, Event: json.RawMessage(body)}
}

func openLetters(t *testing.T, dir string, most int64) *letters {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := newLetters(root, "s", most)
	t.Cleanup(func() { f.close(); _ = root.Close() })
	return f
}

// idsIn are the ids in a file; each line must be a letter.
func idsIn(t *testing.T, file string) (ids []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var l letter
		if err := json.Unmarshal(line, &l); err != nil {
			t.Errorf("%s: line %q: %v", file, line, err)
		}
		ids = append(ids, l.ID)
	}
	return ids
}

// TestRotation: two files of bounded size have the newest letters, whole.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	f := openLetters(t, dir, 1000)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := range 50 {
				if err := f.write(letterOf(100*w+n, `{"html":"<&>"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := f.write(letterOf(999, `{}`)); err != nil {
		t.Fatal(err)
	}
	now, before := filepath.Join(dir, "s.ndjson"), filepath.Join(dir, "s.1.ndjson")
	for _, file := range []string{now, before} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 1000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %s", file, info.Size(), info.Mode())
		}
	}
	if ids := idsIn(t, now); ids[len(ids)-1] != "u:999:ADDED" {
		t.Errorf("the last one is %s", ids[len(ids)-1])
	}
	if n := len(idsIn(t, before)); n < 5 {
		t.Errorf("%d letters in the file before", n)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("%d files", len(all))
	}
	if b, _ := os.ReadFile(before); !strings.Contains(string(b), `{"html":"<&>"}`) {
		t.Errorf("the body is not as it was: %s", b)
	}
	if err := f.write(letterOf(1, `"`+strings.Repeat("x", 1000)+`"`)); err == nil {
		t.Error("a letter larger than the file was written")
	}
}

// TestTorn: half a line, as a crash leaves it, spoils no other.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.ndjson")
	if err := os.WriteFile(file, []byte(`{"id":"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := openLetters(t, dir, 1000).write(letterOf(1, `{}`)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := strings.CutPrefix(string(b), `{"id":"torn`+"\n")
	if !ok || !json.Valid([]byte(rest)) {
		t.Errorf("%s", b)
	}
}

// TestConfined: a link that somebody put there leads nowhere else.
func TestConfined(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "s.ndjson")); err != nil {
		t.Fatal(err)
	}
	if err := openLetters(t, dir, 1000).write(letterOf(1, `{}`)); err == nil {
		t.Error("a letter was written through a link")
	}
	if b, _ := os.ReadFile(outside); len(b) > 0 {
		t.Errorf("outside: %s", b)
	}
}
