package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// record has a field of each type.
type record struct {
	S string `json:"s"`
	B bool   `json:"b"`
	N int    `json:"n"`
	I int64  `json:"i"`
	U uint64 `json:"u"`
	R []byte `json:"r"`
}

func TestDecode(t *testing.T) {
	for line, want := range map[string]string{
		`{"s":"x","b":true,"n":-2147483648,"i":-9223372036854775808,"u":18446744073709551615,"r":[1, {}]}`: `{x true -2147483648 -9223372036854775808 18446744073709551615 [1, {}]}`,
		` { "r" : "x\n\u00e9" , "\u0073":"\u0061","n":7,"n":2147483647 } `:                                 `{a false 2147483647 0 0 "x\n\u00e9"}`,
		`{"s":null,"b":null,"n":null,"i":null,"u":null,"r":null}`:                                          `{ false 0 0 0 }`,
		`{"i":9223372036854775807,"b":false}`:                                                              `{ false 0 9223372036854775807 0 }`,
		`{}`:                                                                                               `{ false 0 0 0 }`,

		`{"n":2147483648}`:           `field "n": want a whole number in range`,
		`{"n":-2147483649}`:          `field "n": want a whole number in range`,
		`{"i":9223372036854775808}`:  `field "i": want a whole number in range`,
		`{"i":-9223372036854775809}`: `field "i": want a whole number in range`,
		`{"i":"1"}`:                  `field "i": want a whole number in range`,
		`{"i":1.5}`:                  `field "i": want a whole number in range`,
		`{"i":1e3}`:                  `field "i": want a whole number in range`,
		`{"i":true}`:                 `field "i": want a whole number in range`,
		`{"u":18446744073709551616}`: `field "u": want a whole number in range`,
		`{"u":-7}`:                   `field "u": want a whole number in range`,
		`{"s":1}`:                    `field "s": want a string`,
		`{"s":{}}`:                   `field "s": want a string`,
		`{"b":"true"}`:               `field "b": want true or false`,
		`{"b":0}`:                    `field "b": want true or false`,
		`{"x":1}`:                    `field "x": unknown field`,

		``:                  `the line ends where an object should stand`,
		` `:                 `the line ends where an object should stand`,
		`[]`:                `column 1: '[' where an object should stand`,
		`{"r":"x"`:          `the line ends where a comma or the end of the object should stand`,
		`{"r":1 "b":2}`:     `column 8: '"' where a comma or the end of the object should stand`,
		`{"r":"x"} x`:       `column 11: 'x' where the end of the line should stand`,
		`{} x`:              `column 4: 'x' where the end of the line should stand`,
		`{1:2}`:             `column 2: '1' where a field name in quotes should stand`,
		`{"r":1,}`:          `column 8: '}' where a field name in quotes should stand`,
		`{"r":1,`:           `the line ends where a field name in quotes should stand`,
		`{"r" 1}`:           `column 6: '1' where a colon should stand`,
		`{"r":`:             `the line ends where a value should stand`,
		`{"r":trie}`:        `column 6: 't' where true should stand`,
		`{"r":-}`:           `column 7: '}' where a digit should stand`,
		`{"r":01}`:          `column 7: '1' where a comma or the end of the object should stand`,
		`{"r":[1}`:          `column 8: '}' where the matching bracket should stand`,
		`{"r":[1,2 3]}`:     `column 11: '3' where a comma or the end of the array should stand`,
		`{"r":{"b":`:        `column 6: the value does not end`,
		`{"r":"x`:           `column 6: the value does not end`,
		`{"a`:               `column 2: the value does not end`,
		"{\"r\":\"x\x01\"}": `column 8: '\x01' where the rest of a string should stand`,
		`{"r":"\u12g4"}`:    `column 11: 'g' where a hexadecimal digit should stand`,
		`{"r":"\x"}`:        `column 8: 'x' where an escape sequence should stand`,
	} {
		var r record
		err := jsonscan.Decode([]byte(line), jsonscan.NewInterner(), jsonscan.FieldsOf(&r))
		got := fmt.Sprintf("{%s %t %d %d %d %s}", r.S, r.B, r.N, r.I, r.U, r.R)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	var r record
	in, field, line := jsonscan.NewInterner(), jsonscan.FieldsOf(&r), []byte(`{"s":"x","n":1,"u":2}`)
	if n := testing.AllocsPerRun(100, func() { _ = jsonscan.Decode(line, in, field) }); n > 0 {
		t.Errorf("%g allocations", n)
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

func FuzzDecode(f *testing.F) {
	for _, in := range samples {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var value []byte
		err := jsonscan.Decode(in, nil, func([]byte) any { return &value })
		object := bytes.HasPrefix(bytes.TrimLeft(in, " \t\r\n"), []byte("{"))
		if (err == nil) != (json.Valid(in) && object) {
			t.Fatalf("%q: Decode says %v, encoding/json says valid=%v", in, err, json.Valid(in))
		}
	})
}

// BenchmarkDecode reads a line of the op log, as the judge does by the million.
func BenchmarkDecode(b *testing.B) {
	line := []byte(`{"id":1234567,"phase":"load","type":"patch","kind":"Pod","namespace":"bench-03","name":"pod-0001234","uid":"00000000-0000-4000-8000-000000012345","rv":"4711","intended":1790000000123456789,"started":1790000000123556789,"finished":1790000000124456789,"status":200}` + "\n")
	in := jsonscan.NewInterner()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	var n int64
	var text string
	for b.Loop() {
		if err := jsonscan.Decode(line, in, func(key []byte) any {
			switch string(key) {
			case "id", "intended", "started", "finished", "status":
				return &n
			}
			return &text
		}); err != nil {
			b.Fatal(err)
		}
	}
}
