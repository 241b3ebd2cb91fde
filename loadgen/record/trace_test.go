package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/ndjson"
)

var header = Header{
	Started:        time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
	Format:         format,
	ClusterVersion: "v1.36.3",
	Resources: []Resource{
		{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true},
		{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true},
	},
}

func object(name string, rv int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"resourceVersion":"%d"},"note":"a \"quoted\" line\n"}`, name, rv)
}

// life is a sequence with every type of frame.
func life() []Frame {
	return []Frame{
		{At: 1, Type: Initial, Object: object("a", 1)},
		{At: 2, Type: Synced, ResourceVersion: "10"},
		{At: 2, Resource: 1, Type: Synced, ResourceVersion: "10"},
		{At: 3, Type: Added, Object: object("b", 11)},
		{At: 4, Type: Modified, Object: object("b", 12)},
		{At: 5, Type: Bookmark, Object: object("", 20)},
		{At: 6, Type: Gap},
		{At: 7, Type: Added, Inferred: true, Object: object("c", 21)},
		{At: 7, Type: Gap},
		{At: 7, Type: Deleted, Inferred: true, Object: object("a", 30)},
		{At: 8, Type: Synced, ResourceVersion: "30"},
		{At: time.Hour, Resource: 1, Type: Added, Object: object("d", 31)},
		{At: time.Hour, Type: Deleted, Object: object("c", 32)},
	}
}

type memory struct {
	bytes.Buffer
	closed bool
}

func (m *memory) Close() error { m.closed = true; return nil }

// write returns a trace that is flushed after each n frames.
func write(t testing.TB, frames []Frame, n int) []byte {
	t.Helper()
	var m memory
	w, err := NewWriter(&m, header)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if err := w.Append(f); err != nil {
			t.Fatal(err)
		}
		if (i+1)%n == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil || !m.closed {
		t.Fatal(err, m.closed)
	}
	return m.Bytes()
}

func read(t testing.TB, data []byte) (h Header, frames []Frame, err error) {
	path := filepath.Join(t.TempDir(), "t")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		return h, nil, err
	}
	defer r.Close()
	for f, err := range r.Frames() {
		if err != nil {
			return r.Header(), frames, err
		}
		frames = append(frames, f)
	}
	return r.Header(), frames, nil
}

func TestRoundTrip(t *testing.T) {
	data := write(t, life(), 5)
	h, frames, err := read(t, data)
	if err != nil || !reflect.DeepEqual(h, header) || !reflect.DeepEqual(frames, life()) {
		t.Errorf("%v: header %+v, frames %+v", err, h, frames)
	}
}

// text is what other tools decompress.
func text(t *testing.T, data []byte) string {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(dec); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestOrdinaryZstd: other tools can decompress a trace.
func TestOrdinaryZstd(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(text(t, write(t, life(), 5))), "\n")
	if len(lines) != len(life())+2 || !strings.HasPrefix(lines[0], `{"format":1,"started":"2026-01-02T03:04:05.000000006Z"`) ||
		lines[len(lines)-1] != `{"frames":13}` {
		t.Errorf("%q", lines)
	}
}

// TestCutAnywhere: each prefix of a trace reads as frames that were written, and is known to be cut, also without
// reading all of it.
func TestCutAnywhere(t *testing.T) {
	data := write(t, life(), 5)
	most := 0
	for n := range data {
		_, frames, err := read(t, data[:n])
		if !errors.Is(err, ErrTruncated) || len(frames) > 0 && !reflect.DeepEqual(frames, life()[:len(frames)]) {
			t.Fatalf("%d bytes: %v, %d frames: %+v", n, err, len(frames), frames)
		}
		most = max(most, len(frames))
	}
	if most != len(life()) {
		t.Errorf("%d frames of the longest prefix", most)
	}
	if err := Whole(shipped); err != nil {
		t.Error(err)
	}
}

// TestChangedAnywhere: every changed bit is found. Bits of headers that say nothing are the exception: what is read is
// then the same.
func TestChangedAnywhere(t *testing.T) {
	data := write(t, life(), 5)
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1 << (i % 8) // which one makes no difference to a checksum
		h, frames, err := read(t, damaged)
		var e *Error
		same := err == nil && reflect.DeepEqual(h, header) && reflect.DeepEqual(frames, life())
		if !errors.As(err, &e) && !same {
			t.Fatalf("byte %d: %v, %d frames", i, err, len(frames))
		}
	}
}

// TestMovedFrames: what is whole but not where it was is found by the order of frames and their number.
func TestMovedFrames(t *testing.T) {
	lines := strings.SplitAfter(text(t, write(t, life(), 5)), "\n")
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	n := len(life())
	for want, order := range map[string][]int{
		"frames were written": slices.Concat([]int{0}, count(1, 12), []int{14}),
		"unknown field":       {0, 0},
		"after 1h0m0s":        slices.Concat(count(0, n+1), []int{3, n + 1}),
		"follows the end":     slices.Concat(count(0, n+2), []int{n + 1}),
	} {
		var moved []byte
		for _, i := range order {
			moved = enc.EncodeAll([]byte(lines[i]), moved)
		}
		if _, _, err := read(t, moved); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", order, err, want)
		}
	}
}

// count is the numbers from a up to b.
func count(a, b int) (all []int) {
	for ; a < b; a++ {
		all = append(all, a)
	}
	return all
}

func TestForeignFiles(t *testing.T) {
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	const start = `{"format":1,"started":"2026-01-02T03:04:05Z","clusterVersion":"v1","anonymised":false,"resources":[`
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"empty":        {nil, ErrTruncated},
		"text":         {[]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), ErrForeign},
		"zstd":         {enc.EncodeAll([]byte("hello\n"), nil), ErrForeign},
		"other lines":  {enc.EncodeAll([]byte(`{"id":1,"phase":"load"}`+"\n"), nil), ErrForeign},
		"newer":        {enc.EncodeAll([]byte(`{"format":2,"else":1}`+"\n"), nil), ErrNewer},
		"two headers":  {enc.EncodeAll([]byte(start+`{"version":"v1","name":"pods","kind":"Pod"}]} {}`+"\n"), nil), ErrForeign},
		"large header": {enc.EncodeAll([]byte(start+strings.Repeat("{},", 5_000_000)+"{}]}\n"), nil), ErrForeign},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tc.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), path+": line 1: ") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "nosuch")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestExistingFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.zst")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, header); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "precious" {
		t.Errorf("%q is left", data)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "x"), Header{}); err == nil {
		t.Error("a header without anything was taken")
	}
}

// fullDisk is a disk with room for so many bytes.
type fullDisk struct {
	memory
	room int
}

var errFull = errors.New("no space left on device")

func (f *fullDisk) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n, _ := f.memory.Write(p[:f.room])
		f.room = 0
		return n, errFull
	}
	f.room -= len(p)
	return f.memory.Write(p)
}

// TestDiskFull: the error is final, and what was written whole can be read.
func TestDiskFull(t *testing.T) {
	frames := life()
	whole := write(t, frames, 5)
	disk := &fullDisk{room: len(whole) - 40} // within the end or what comes before it
	w, err := NewWriter(disk, header)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if err := w.Append(f); err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); !errors.Is(err, errFull) || !disk.closed {
		t.Errorf("close: %v, closed %v", err, disk.closed)
	}
	if _, got, err := read(t, disk.Bytes()); !errors.Is(err, ErrTruncated) || len(got) < 10 {
		t.Errorf("%d frames, %v", len(got), err)
	}
}

// TestManyWriters: frames of concurrent recorders are all there, with times in order.
func TestManyWriters(t *testing.T) {
	var m memory
	w, err := NewWriter(&m, header)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for r := range header.Resources {
		wg.Go(func() {
			for i := range 500 {
				if err := w.Append(Frame{At: time.Duration(i * 100), Resource: r, Type: Initial, Object: object(strings.Repeat("x", 4000), i)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(Frame{Type: Initial, Object: object("late", 1)}); !errors.Is(err, ndjson.ErrClosed) {
		t.Errorf("a frame after the end: %v", err)
	}
	bytes, count := w.Written()
	_, frames, err := read(t, m.Bytes())
	if err != nil || len(frames) != 1000 || count != 1000 || bytes != int64(m.Len()) {
		t.Errorf("%v: %d frames, %d written, %d bytes of %d", err, len(frames), count, bytes, m.Len())
	}
}

// TestBadFrames: a writer and a reader refuse what no replay could take.
func TestBadFrames(t *testing.T) {
	synced := Frame{Type: Synced, ResourceVersion: "1"}
	for want, bad := range map[string]Frame{
		"resource 2, the header names 2":   {Resource: 2, Type: Synced, ResourceVersion: "1"},
		`type "ERROR" is not known`:        {Type: "ERROR", Object: object("a", 1)},
		"SYNCED of pods with a resource":   {Type: Synced},
		"ADDED of pods with an object":     {Type: Added},
		"GAP of pods with an object":       {Type: Gap, Object: object("b", 2)},
		"unexpected end of JSON":           {Type: Added, Object: []byte(`{"a":`)},
		"not a JSON object":                {Type: Added, Object: []byte(`[]`)},
		"16777217 bytes, at most 16777216": {Type: Added, Object: make([]byte, maxObject+1)},
	} {
		var m memory
		w, err := NewWriter(&m, header)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(synced); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, frames, err := read(t, m.Bytes()); err != nil || len(frames) != 1 {
			t.Errorf("%s: %d frames are left, %v", want, len(frames), err)
		}
	}
	head, _ := json.Marshal(header)
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	for text, want := range map[string]string{
		`{"at":-1,"resource":0,"type":"SYNCED","resourceVersion":"1"}`:      "line 2: time -1ns after 0s",
		`{"at":1,"type":"SYNCED","resourceVersion":"1"}`:                    "line 2: resource -1",
		`{"at":1,"resource":0,"type":"SYNCED","resourceVersion":"1","x":2}`: `line 2: field "x": unknown field`,
		`{"at":1,"resource":0,"type":"INITIAL","object":"{}"}`:              `field "object": want an object`,
		"": "line 2: the line ends where an object should stand",
	} {
		_, _, err := read(t, enc.EncodeAll(fmt.Appendf(nil, "%s\n%s\n{\"frames\":1}\n", head, text), nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestHeaders: what cannot be served is no trace.
func TestHeaders(t *testing.T) {
	pods := header.Resources[0]
	for want, resources := range map[string][]Resource{
		"pods is named twice":                       {pods, {Version: "v2", Name: "pods", Kind: "Pod"}},
		`resource 0: "../x" has no path`:            {{Version: "v1", Name: "../x", Kind: "X"}},
		`resource 0: "x.v1.a/b" has no path`:        {{Group: "a/b", Version: "v1", Name: "x", Kind: "X"}},
		"resource 0 lacks its version":              {{Name: "x", Kind: "X"}},
		"bytes, at most 1048575 are possible":       {{Version: "v1", Name: "x", Kind: strings.Repeat("x", 1<<20)}},
		"4097 resources, at most 4096 are possible": make([]Resource, maxResources+1),
	} {
		h := header
		h.Resources = resources
		if _, err := NewWriter(&memory{}, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
