package jsonscan_test

import (
	"testing"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

func TestDecode(t *testing.T) {
	type record struct {
		s string
		b bool
		n int
		i int64
		u uint64
	}
	in := jsonscan.NewInterner()
	decode := func(line string) (r record, err error) {
		err = jsonscan.Decode([]byte(line), in, func(key []byte) any {
			switch string(key) {
			case "s":
				return &r.s
			case "b":
				return &r.b
			case "n":
				return &r.n
			case "i":
				return &r.i
			case "u":
				return &r.u
			}
			return nil
		})
		return r, err
	}
	got, err := decode(`{"s":"x","b":true,"n":-2147483648,"i":-9223372036854775808,"u":18446744073709551615}`)
	if want := (record{"x", true, -1 << 31, -1 << 63, 1<<64 - 1}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for line, want := range map[string]string{
		`{"n":2147483648}`:  `field "n": want a whole number in range`,
		`{"n":-2147483649}`: `field "n": want a whole number in range`,
		`{"s":1}`:           `field "s": want a string`,
		`{"b":"true"}`:      `field "b": want true or false`,
		`{"x":1}`:           `field "x": unknown field`,
		`{"s":"x"`:          `the line ends where a comma or the end of the object should stand`,
	} {
		if _, err := decode(line); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = decode(`{"s":"x","n":1,"u":2}`) }); n > 2 { // the line and the record
		t.Errorf("%g allocations", n)
	}
}
