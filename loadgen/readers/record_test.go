package readers

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/ndjson"
)

type file struct{ bytes.Buffer }

func (*file) Close() error { return nil }

func collect(seq iter.Seq2[Record, error]) (out []Record, err error) {
	for r, e := range seq {
		if e != nil {
			return out, e
		}
		out = append(out, r)
	}
	return out, nil
}

func sample(n int) []Record {
	all := []Record{{What: Started, Ended: 1}}
	for i := range n {
		all = append(all,
			Record{What: Get, Intended: int64(i + 1), Started: int64(i + 2), Ended: int64(i + 3), Code: 200, Items: 1, Bytes: 3000},
			Record{What: List, Intended: 5, Started: 6, Ended: 7, Code: 503, Error: `body of "0" bytes <cut> & more`},
			Record{What: Event, Reader: i % 7, Type: "MODIFIED", UID: fmt.Sprint("uid-", i), Version: uint64(i), Ended: 9},
			Record{What: Delivery, Reader: 2, Type: "ADDED", UID: "u", Version: 3, Started: 10, Ended: 11, Code: 500, Error: "500", Signed: true})
	}
	return all
}

func decoded(t testing.TB, data []byte) iter.Seq2[Record, error] {
	lines, err := ndjson.NewZstd(bytes.NewReader(data), ndjson.MaxLine)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(Record, error) bool) {
		defer lines.Close()
		read(lines, yield)
	}
}

func written(t testing.TB, all []Record) []byte {
	var f file
	w, err := ndjson.NewWriter(&f, format)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		w.Append(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, ndjson.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	return f.Bytes()
}

func TestWriteAndRead(t *testing.T) {
	want := sample(2000)
	got, err := collect(decoded(t, (written(t, want))))
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d records of %d, %v", len(got), len(want), err)
	}
}

// Every field survives: one that the encoding does not know would be lost without a word.
func TestAllFields(t *testing.T) {
	var full Record
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x" + v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint64:
			f.SetUint(uint64(i) + 1)
		default:
			f.SetInt(int64(i) + 1)
		}
	}
	got, err := collect(decoded(t, (written(t, []Record{full}))))
	if err != nil || len(got) != 1 || got[0] != full {
		t.Errorf("wrote %+v, read %+v, %v", full, got, err)
	}
}

func compressed(t testing.TB, text string) []byte {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll([]byte(text), nil)
}

func TestRefusedRecords(t *testing.T) {
	whole := written(t, sample(500))
	for name, c := range map[string]struct {
		data []byte
		is   error
		says string
	}{
		"cut in the middle": {whole[:len(whole)/2], ErrTruncated, ""},
		"no last line":      {compressed(t, `{"what":"get"}`+"\n"), ErrTruncated, "after 1 records"},
		"a record missing":  {compressed(t, `{"what":"get"}`+"\n"+`{"what":"end","records":2}`+"\n"), ErrTruncated, "counts 2 records, 1 were read"},
		"unknown field":     {compressed(t, `{"what":"get","more":1}`+"\n"), nil, "more"},
		"nothing it is of":  {compressed(t, `{"code":1}`+"\n"), nil, "does not say what"},
		"text after":        {compressed(t, `{"what":"end","records":0}`+"\n"+`{"what":"get"}`+"\n"), nil, "after the last line"},
	} {
		_, err := collect(decoded(t, (c.data)))
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"what":"get","code":200}` + "\n" + `{"what":"end","records":1}` + "\n")
	f.Add(`{"what":"end","records":0}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := collect(decoded(t, (compressed(t, text))))
		if err != nil {
			return
		}
		back, err := collect(decoded(t, (written(t, got))))
		if err != nil || !slices.Equal(got, back) {
			t.Errorf("%q reads as %+v, and once more as %+v, %v", text, got, back, err)
		}
	})
}
