package storagemock

import "testing"

// TestNormalise: what a database by way of Go's maps makes of a document.
func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":{"z":1,"y":[{"d":1,"c":2}]},"a":"<"}`: `{"a":"\u003c","b":{"y":[{"c":2,"d":1}],"z":1}}`,
		`[1,1.0,1e3,1.50,-0.0,9007199254740993]`:    `[1,1,1000,1.5,-0,9007199254740993]`,
		`[1e999]`:                                   `[1e999]`,
	} {
		if got := string(normalise([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
