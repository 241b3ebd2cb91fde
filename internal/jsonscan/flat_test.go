package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

func TestFieldsNameTheColumnOfAnError(t *testing.T) {
	errField := errors.New("no such side")
	for line, want := range map[string]string{
		``:                       `the line ends where an object should stand`,
		` `:                      `the line ends where an object should stand`,
		`[]`:                     `column 1: '[' where an object should stand`,
		`{"a":"x"`:               `the line ends where a comma or the end of the object should stand`,
		`{"a":1 "b":2}`:          `column 8: '"' where a comma or the end of the object should stand`,
		`{"a":"x"} x`:            `column 11: 'x' where the end of the line should stand`,
		`{} x`:                   `column 4: 'x' where the end of the line should stand`,
		`{1:2}`:                  `column 2: '1' where a field name in quotes should stand`,
		`{"a":1,}`:               `column 8: '}' where a field name in quotes should stand`,
		`{"a":1,`:                `the line ends where a field name in quotes should stand`,
		`{"a" 1}`:                `column 6: '1' where a colon should stand`,
		`{"a":`:                  `the line ends where a value should stand`,
		`{"a":x}`:                `column 6: 'x' where a value should stand`,
		`{"a":trie}`:             `column 6: 't' where true should stand`,
		`{"a":-}`:                `column 7: '}' where a digit should stand`,
		`{"a":01}`:               `column 7: '1' where a comma or the end of the object should stand`,
		`{"a":[1}`:               `column 8: '}' where the matching bracket should stand`,
		`{"a":[1,2 3]}`:          `column 11: '3' where a comma or the end of the array should stand`,
		`{"a":{"b":[1,2}`:        `column 15: '}' where the matching bracket should stand`,
		`{"a":{"b":`:             `column 6: the value does not end`,
		`{"a":"x`:                `column 6: the value does not end`,
		`{"a`:                    `column 2: the value does not end`,
		"{\"a\":\"x\x01\"}":      `column 8: '\x01' where the rest of a string should stand`,
		"{\"a\":\"x\ty\"}":       `column 8: '\t' where the rest of a string should stand`,
		`{"a":"\u12g4"}`:         `column 11: 'g' where a hexadecimal digit should stand`,
		`{"a":"\x"}`:             `column 8: 'x' where an escape sequence should stand`,
		`{"a":1,"side":"other"}`: `field "side": no such side`,
	} {
		err := jsonscan.Fields([]byte(line), func(key []byte, _ jsonscan.Value) error {
			if string(key) == "side" {
				return errField
			}
			return nil
		})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", line, err, want)
		}
	}
}

func TestFieldsReadsEveryMemberInOrder(t *testing.T) {
	line := ` { "a" : "x\n\u00e9" , "\u0062":-7,"c":18446744073709551615,"d":true,"e":null,"a":"","f":{"g":[1, {}]},"h":[] } `
	var got []byte
	in := jsonscan.NewInterner()
	must := func(v any, err error) string {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	err := jsonscan.Fields([]byte(line), func(key []byte, v jsonscan.Value) error {
		got = append(append(got, key...), '=')
		var text string
		switch string(key) {
		case "a", "e":
			text = must(v.Text(in))
		case "b":
			text = must(v.Int())
		case "c":
			text = must(v.Uint())
		case "d":
			text = must(v.Bool())
		default:
			text = string(v.Raw())
		}
		got = append(append(got, text...), ' ')
		return nil
	})
	if want := `a="x\né" b=-7 c=18446744073709551615 d=true e="" a="" f={"g":[1, {}]} h=[] `; err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestValueTypesAndRanges(t *testing.T) {
	const wantString, wantNumber, wantBool = "want a string", "want a whole number in range", "want true or false"
	in := jsonscan.NewInterner()
	for _, c := range []struct {
		in       string
		text     string
		textErr  string
		integer  int64
		intErr   string
		unsigned uint64
		uintErr  string
		boolean  bool
		boolErr  string
	}{
		{in: `null`},
		{in: `"x"`, text: "x", intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
		{in: `"1"`, text: "1", intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
		{in: `true`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber, boolean: true},
		{in: `false`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber},
		{in: `{}`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
		{in: `7`, textErr: wantString, integer: 7, unsigned: 7, boolErr: wantBool},
		{in: `-7`, textErr: wantString, integer: -7, uintErr: wantNumber, boolErr: wantBool},
		{in: `1.5`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
		{in: `1e3`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
		{in: `9223372036854775807`, textErr: wantString, integer: math.MaxInt64, unsigned: math.MaxInt64, boolErr: wantBool},
		{in: `9223372036854775808`, textErr: wantString, intErr: wantNumber, unsigned: math.MaxInt64 + 1, boolErr: wantBool},
		{in: `-9223372036854775808`, textErr: wantString, integer: math.MinInt64, uintErr: wantNumber, boolErr: wantBool},
		{in: `-9223372036854775809`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
		{in: `18446744073709551615`, textErr: wantString, intErr: wantNumber, unsigned: math.MaxUint64, boolErr: wantBool},
		{in: `18446744073709551616`, textErr: wantString, intErr: wantNumber, uintErr: wantNumber, boolErr: wantBool},
	} {
		err := jsonscan.Fields([]byte(`{"a":`+c.in+`}`), func(_ []byte, v jsonscan.Value) error {
			check := func(what string, same bool, err error, want string) {
				t.Helper()
				if !same || (err == nil) != (want == "") || err != nil && err.Error() != want {
					t.Errorf("%s as %s: same value: %t, error %v, want %q", c.in, what, same, err, want)
				}
			}
			s, err := v.Text(in)
			check("a string", s == c.text, err, c.textErr)
			i, err := v.Int()
			check("an integer", i == c.integer, err, c.intErr)
			u, err := v.Uint()
			check("an unsigned integer", u == c.unsigned, err, c.uintErr)
			b, err := v.Bool()
			check("a bool", b == c.boolean, err, c.boolErr)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
	}
}

func TestInternerSharesAndNeverMixes(t *testing.T) {
	in := jsonscan.NewInterner()
	buf := []byte("same")
	first := in.Get(buf)
	copy(buf, "else")
	if second := in.Get(buf); first != "same" || second != "else" {
		t.Errorf("%q and %q: a string changed with the buffer", first, second)
	}
	if n := testing.AllocsPerRun(100, func() { in.Get([]byte("same")) }); n != 0 {
		t.Errorf("%g allocations for a string seen before", n)
	}
	for i := range 1 << 16 { // four times the slots
		if want := strconv.Itoa(i); in.Get([]byte(want)) != want {
			t.Fatalf("%q became another string", want)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, in := range samples {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		type member struct {
			key string
			raw string
		}
		var got []member
		err := jsonscan.Fields(in, func(key []byte, v jsonscan.Value) error {
			got = append(got, member{string(key), string(v.Raw())})
			return nil
		})
		object := bytes.HasPrefix(bytes.TrimLeft(in, " \t\r\n"), []byte("{"))
		if (err == nil) != (json.Valid(in) && object) {
			t.Fatalf("%q: Fields says %v, encoding/json says valid=%v", in, err, json.Valid(in))
		}
		if err != nil || bytes.ContainsRune(in, '\\') || !utf8.Valid(in) {
			return
		}
		d := json.NewDecoder(bytes.NewReader(in))
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		for _, m := range got {
			key, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if raw[0] == '"' {
				raw = raw[1 : len(raw)-1]
			}
			if m.key != key || m.raw != string(raw) {
				t.Fatalf("%q: got %q, want %q: %q", in, m, key, raw)
			}
		}
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("%q: %d members, more in encoding/json", in, len(got))
		}
	})
}

// BenchmarkFields reads a line of the op log, as the judge does by the million.
func BenchmarkFields(b *testing.B) {
	line := []byte(`{"id":1234567,"phase":"load","type":"patch","kind":"Pod","namespace":"bench-03","name":"pod-0001234","uid":"00000000-0000-4000-8000-000000012345","rv":"4711","intended":1790000000123456789,"started":1790000000123556789,"finished":1790000000124456789,"status":200}` + "\n")
	in := jsonscan.NewInterner()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		sum := int64(0)
		if err := jsonscan.Fields(line, func(key []byte, v jsonscan.Value) error {
			switch string(key) {
			case "id", "intended", "started", "finished", "status":
				n, err := v.Int()
				sum += n
				return err
			}
			_, err := v.Text(in)
			return err
		}); err != nil || sum == 0 {
			b.Fatal(err)
		}
	}
}
