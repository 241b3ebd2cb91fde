package faults

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated documentation")

// TestReference: the reference of scenario files is the one that the types give.
func TestReference(t *testing.T) {
	const path = "../../docs/scenario-reference.md"
	want := Format.Reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != want {
		t.Errorf("%s is not as it is generated (%v); run this test with -update", path, err)
	}
}
