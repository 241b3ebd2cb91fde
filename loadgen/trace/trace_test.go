package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var header = Header{
	Started:        time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
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

// write returns a trace with a block for each n frames.
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

func read(data []byte) (h Header, frames []Frame, err error) {
	r, err := NewReader(bytes.NewReader(data))
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
	h, frames, err := read(data)
	if err != nil || !reflect.DeepEqual(h, header) || !reflect.DeepEqual(frames, life()) {
		t.Errorf("%v: header %+v, frames %+v", err, h, frames)
	}
}

// TestOrdinaryZstd: other tools can decompress a trace.
func TestOrdinaryZstd(t *testing.T) {
	dec, err := zstd.NewReader(bytes.NewReader(write(t, life(), 5)))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(dec); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != len(life())+2 || !strings.HasPrefix(lines[0], `{"started":"2026-01-02T03:04:05.000000006Z"`) || lines[len(lines)-1] != `{"frames":13}` {
		t.Errorf("%q", lines)
	}
}

// TestCutAnywhere: each prefix of a trace reads as whole blocks, and says that it was cut.
func TestCutAnywhere(t *testing.T) {
	data, seen := write(t, life(), 5), map[int]bool{}
	for n := range data {
		_, frames, err := read(data[:n])
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if len(frames)%5 != 0 && len(frames) != len(life()) || len(frames) > 0 && !reflect.DeepEqual(frames, life()[:len(frames)]) {
			t.Fatalf("%d bytes: %d frames: %+v", n, len(frames), frames)
		}
		if want := fmt.Sprintf("after %d frames, which are whole", len(frames)); len(frames) > 0 && !strings.Contains(err.Error(), want) {
			t.Fatalf("%d bytes: %v lacks %q", n, err, want)
		}
		seen[len(frames)] = true
	}
	if len(seen) != 4 { // 0, 5, 10 and 13
		t.Errorf("frames of prefixes: %v", seen)
	}
}

// TestWhole: only the whole file is whole; every other length is cut, with as many frames as
// reading finds.
func TestWhole(t *testing.T) {
	data, path := write(t, life(), 5), filepath.Join(t.TempDir(), "t")
	first := preambleBytes + binary.LittleEndian.Uint32(data[28:])
	for n := range len(data) + 1 {
		if err := os.WriteFile(path, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		err := Whole(path)
		if n == len(data) && err != nil || n < len(data) && !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
		if _, _, want := read(data[:n]); want != nil && !strings.HasSuffix(err.Error(), want.Error()) {
			t.Fatalf("%d bytes: %v, reading says %v", n, err, want)
		}
	}
	if err := os.WriteFile(path, append(data[:first:first], make([]byte, 99)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Whole(path); err == nil || errors.Is(err, ErrTruncated) {
		t.Errorf("zeroes: %v", err)
	}
}

// TestChangedAnywhere: no changed bit gives another frame or another header.
func TestChangedAnywhere(t *testing.T) {
	data := write(t, life(), 5)
	for i := range data {
		for _, bit := range []int{i % 8} { // which one makes no difference to a CRC
			damaged := bytes.Clone(data)
			damaged[i] ^= 1 << bit
			h, frames, err := read(damaged)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("byte %d bit %d: %v", i, bit, err)
			}
			if e.Offset > int64(i) {
				t.Fatalf("byte %d bit %d: found only at %d", i, bit, e.Offset)
			}
			if len(frames) > 0 && (!reflect.DeepEqual(frames, life()[:len(frames)]) || !reflect.DeepEqual(h, header)) {
				t.Fatalf("byte %d bit %d: %+v", i, bit, frames)
			}
		}
	}
}

// TestMovedBlocks: blocks that are whole but not where they were are found.
func TestMovedBlocks(t *testing.T) {
	data := write(t, life(), 5)
	var at []int
	for i := 0; i < len(data); {
		at = append(at, i)
		i += preambleBytes + int(binary.LittleEndian.Uint32(data[i+28:]))
	}
	at = append(at, len(data))
	part := func(i int) []byte { return data[at[i]:at[i+1]] }
	if len(at) != 6 { // header, 5, 5, 3, end
		t.Fatal(at)
	}
	for want, orders := range map[string][][]int{
		"missing or doubled": {{0, 1, 1, 2, 3, 4}, {0, 1, 3, 4}, {0, 2, 1, 3, 4}, {1, 2, 3, 4}, {4}, {0, 1, 2, 4}},
		"follows the end":    {{0, 1, 2, 3, 4, 4}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}},
	} {
		for _, order := range orders {
			var moved []byte
			for _, i := range order {
				moved = append(moved, part(i)...)
			}
			_, _, err := read(moved)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", order, err, want)
			}
		}
	}
}

func TestForeignFiles(t *testing.T) {
	enc, _ := zstd.NewWriter(nil)
	newer := write(t, life(), 5)
	newer[12] = 9
	packed := newer[preambleBytes : preambleBytes+binary.LittleEndian.Uint32(newer[28:])]
	binary.LittleEndian.PutUint32(newer[32:], checksum(newer[:32], packed))
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"empty":        {nil, ErrTruncated, "byte 0: the trace is cut short within its header"},
		"text":         {[]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), ErrForeign, "byte 0: this is not a trace of watchbench record"},
		"short text":   {[]byte("x"), ErrForeign, "byte 0: this is not a trace"},
		"zstd":         {enc.EncodeAll(bytes.Repeat([]byte("hello "), 100), nil), ErrForeign, "byte 0: this is not a trace"},
		"newer format": {newer, ErrVersion, "byte 0: the trace is of a newer format: version 9, this program reads up to 1"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tc.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), path+": "+tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "nosuch")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A damaged preamble cannot have the reader allocate what the file does not hold.
func TestDamagedSizes(t *testing.T) {
	data := write(t, life(), 5)
	binary.LittleEndian.PutUint32(data[28:], maxBlock)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := read(data); !errors.Is(err, ErrTruncated) {
		t.Errorf("a large compressed size: %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > maxBlock/2 {
		t.Errorf("allocated %d bytes for a file of %d", took, len(data))
	}
	binary.LittleEndian.PutUint32(data[28:], maxBlock+1)
	if _, _, err := read(data); !errors.Is(err, errChecksum) {
		t.Errorf("an impossible compressed size: %v", err)
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

// full is a disk with room for so many bytes.
type full struct {
	memory
	room int
}

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
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
	disk := &full{room: len(whole) - 40} // within the end block or the one before
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
	if err := w.Append(frames[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if _, got, err := read(disk.Bytes()); !errors.Is(err, ErrTruncated) || len(got) < 10 {
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
	bytes, count := w.Written()
	_, frames, err := read(m.Bytes())
	if err != nil || len(frames) != 1000 || count != 1000 || bytes != int64(m.Len()) || w.number < 4 {
		t.Errorf("%v: %d frames, %d written, %d bytes of %d, %d blocks", err, len(frames), count, bytes, m.Len(), w.number)
	}
}

// BenchmarkRead reads events of 3 KiB, of which a replay wants 50,000 in a second.
func BenchmarkRead(b *testing.B) {
	frames := []Frame{{Type: Synced, ResourceVersion: "1"}}
	for i := range 10_000 {
		frames = append(frames, Frame{Type: Added, Object: fmt.Appendf(nil, `{"metadata":{"name":"pod-%d"},"padding":%q}`, i, strings.Repeat(fmt.Sprintf("text of %d, ", i), 300)[:3000])})
	}
	data := write(b, frames, len(frames)+1)
	b.SetBytes(3 << 10 * int64(len(frames)))
	for b.Loop() {
		if _, all, err := read(data); err != nil || len(all) != len(frames) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(frames))/b.Elapsed().Seconds(), "events/s")
}

// TestHeaders: what cannot be served is no trace, and a header takes little memory however
// it is made.
func TestHeaders(t *testing.T) {
	pods := header.Resources[0]
	for want, resources := range map[string][]Resource{
		"pods is named twice":                       {pods, {Version: "v2", Name: "pods", Kind: "Pod"}},
		`resource 0: "../x" has no path`:            {{Version: "v1", Name: "../x", Kind: "X"}},
		`resource 0: "x.v1.a/b" has no path`:        {{Group: "a/b", Version: "v1", Name: "x", Kind: "X"}},
		"resource 0 lacks its version":              {{Name: "x", Kind: "X"}},
		"bytes, fewer than 1048576 are possible":    {{Version: "v1", Name: "x", Kind: strings.Repeat("x", 1<<20)}},
		"4097 resources, at most 4096 are possible": make([]Resource, maxResources+1),
	} {
		h := header
		h.Resources = resources
		if _, err := NewWriter(&memory{}, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	const start = `{"started":"2026-01-02T03:04:05Z","clusterVersion":"v1","anonymised":false,"resources":[`
	for text, want := range map[string]string{
		start + `{"version":"v1","name":"pods","kind":"Pod"}]} {}` + "\n": "header: something follows it",
		start + strings.Repeat("{},", 5_000_000) + "{}]}\n":               "the header has 15000093 bytes, at most 1048576",
	} {
		packed := enc.EncodeAll([]byte(text), nil)
		p := preamble{version: Version, kind: headerBlock, lines: 1, text: uint32(len(text)), packed: uint32(len(packed))}
		if _, _, err := read(append(p.encode(packed), packed...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", text, err, want)
		}
	}
}
