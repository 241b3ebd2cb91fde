package oplog

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/ndjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a log in memory.
type file struct {
	bytes.Buffer
	closed bool
}

func (f *file) Close() error { f.closed = true; return nil }

func records(n int) []Record {
	var out []Record
	for i := range n {
		r := Record{
			ID: int64(i + 1), Phase: PhaseLoad, Type: TypeCreate, Thread: i % 5, Kind: "Pod", Namespace: "ns", Name: fmt.Sprintf("p%d", i),
			UID: fmt.Sprintf("uid-%d", i), ResourceVersion: uint64(i) + 100, Intended: 1 + int64(i), Started: 2 + int64(i), Finished: 3 + int64(i), Status: 201,
		}
		if i%7 == 0 {
			r.Attempt, r.Status, r.Error, r.ResourceVersion = 2, 429, `too "many" <requests> & … more`, 0
		}
		if i%11 == 0 {
			r.Type, r.Bystander, r.DeletedVersion, r.Thread, r.Namespace = TypeDelete, true, math.MaxUint64, -1, ""
		}
		out = append(out, r)
	}
	return out
}

func newWriter(t *testing.T, f *file) *Writer {
	t.Helper()
	w, err := ndjson.NewWriter(f, format)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, data []byte) iter.Seq2[Record, error] {
	t.Helper()
	lines, err := ndjson.NewZstd(bytes.NewReader(data), ndjson.MaxLine)
	if err != nil {
		t.Fatal(err)
	}
	return format.Read(lines)
}

func collect(seq iter.Seq2[Record, error]) (out []Record, err error) {
	for r, e := range seq {
		if e != nil {
			return out, e
		}
		out = append(out, r)
	}
	return out, nil
}

// TestEncodingHasAllFields fails when Record gets a field that the reader does not know.
func TestEncodingHasAllFields(t *testing.T) {
	var full Record
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint64:
			f.SetUint(uint64(i) + 1)
		default:
			f.SetInt(int64(i) + 1)
		}
	}
	f := &file{}
	w := newWriter(t, f)
	w.Append(full)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := collect(read(t, f.Bytes())); err != nil || !slices.Equal(got, []Record{full}) {
		t.Errorf("wrote %+v, read %+v, %v", full, got, err)
	}
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.ndjson.zst")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := records(5000)
	for i, r := range want {
		w.Append(r)
		if i == 1000 || i == 3000 {
			if err := w.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			// What a checkpoint covers can be read while the log is open.
			if got, err := collect(ReadFile(path)); err != nil || !slices.Equal(got, want[:i+1]) {
				t.Errorf("at the checkpoint after %d: %d records, %v", i+1, len(got), err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := collect(ReadFile(path))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d records, %v, want %d", len(got), err, len(want))
	}
	if err := w.Close(); !errors.Is(err, ndjson.ErrClosed) {
		t.Errorf("second Close: %v, want ErrClosed", err)
	}
	w.Append(want[0]) // has no effect and does no harm
}

func compress(t *testing.T, text string) []byte {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll([]byte(text), nil)
}

func TestReadRefuses(t *testing.T) {
	const good = `{"id":1,"phase":"load","type":"create","thread":0,"kind":"Pod","name":"p","intended":1,"started":2,"finished":3,"status":201}` + "\n"
	for _, tc := range []struct {
		name      string
		data      []byte
		records   int
		truncated bool
		want      string
	}{
		{"nothing", nil, 0, true, "line 1"},
		{"not zstd", []byte(good), 0, false, "line 1: decompressing"},
		{"no checkpoint", compress(t, good+good), 2, true, "line 3"},
		{"no checkpoint after the first", compress(t, good+`{"checkpoint":1}`+"\n"+good), 2, true, "line 4"},
		{"half a line", compress(t, good+good[:20]), 1, true, "line 2"},
		{"half a checkpoint", compress(t, good+`{"checkpoint":1`), 1, true, "line 2"},
		{"record missing", compress(t, good+`{"checkpoint":2}`+"\n"), 1, false, "line 2: checkpoint counts 2 records, 1 were read"},
		{"record doubled", compress(t, good+good+`{"checkpoint":1}`+"\n"), 2, false, "line 3: checkpoint counts 1"},
		{"not JSON", compress(t, good+"hello\n"), 1, false, "line 2: not a record"},
		{"wrong type", compress(t, good+`{"id":"x"}`+"\n"), 1, false, "line 2: not a record"},
		{"unknown field", compress(t, `{"id":1,"colour":"red"}`+"\n"), 0, false, `line 1: not a record`},
		{"two values on a line", compress(t, `{"id":1}{"id":2}`+"\n"), 0, false, "line 1: not a record: column 9: '{' where the end of the line should stand"},
		{"empty line", compress(t, good+"\n"), 1, false, "line 2: not a record: the line ends where an object should stand"},
		{"broken checkpoint", compress(t, `{"checkpoint":x}`+"\n"), 0, false, "line 1: not a checkpoint"},
		{"line without end", compress(t, strings.Repeat("x", 2*ndjson.MaxLine)), 0, false, "line 1: decompressing: longer than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := collect(read(t, tc.data))
			var at *ndjson.LineError
			if !errors.As(err, &at) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if errors.Is(err, ndjson.ErrTruncated) != tc.truncated {
				t.Errorf("%v: truncated is %t, want %t", err, !tc.truncated, tc.truncated)
			}
			if len(got) != tc.records {
				t.Errorf("%d records before the error, want %d", len(got), tc.records)
			}
		})
	}
}

// TestCutLogIsNeverTakenForWhole cuts a log at every place.
func TestCutLogIsNeverTakenForWhole(t *testing.T) {
	f := &file{}
	w := newWriter(t, f)
	want := records(200)
	for i, r := range want {
		w.Append(r)
		if i == 99 {
			if err := w.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	half := f.Len()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := f.Bytes()
	for n := range whole {
		got, err := collect(read(t, whole[:n]))
		switch {
		case n == half: // a log up to a checkpoint is whole
			if err != nil || len(got) != 100 {
				t.Errorf("cut at the checkpoint: %d records, %v", len(got), err)
			}
		case err == nil:
			t.Errorf("cut after %d of %d bytes: no error", n, len(whole))
		case !slices.Equal(got, want[:len(got)]):
			t.Errorf("cut after %d bytes: wrong records", n)
		}
	}
}

// TestDamageIsFound turns over one bit after the other.
func TestDamageIsFound(t *testing.T) {
	f := &file{}
	w := newWriter(t, f)
	want := records(50)
	for _, r := range want {
		w.Append(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range f.Len() * 8 {
		damaged := bytes.Clone(f.Bytes())
		damaged[i/8] ^= 1 << (i % 8)
		if got, err := collect(read(t, damaged)); err == nil && !slices.Equal(got, want) {
			t.Errorf("bit %d: %d records that were not written, no error", i, len(got))
		}
	}
}
