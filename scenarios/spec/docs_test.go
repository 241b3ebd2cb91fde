package spec_test

import (
	"flag"
	"os"
	"testing"

	"github.com/watchbench/watchbench/scenarios/faults"
)

var update = flag.Bool("update", false, "rewrite the generated documentation")

// TestReference: the reference of scenario files is the one that the types give, with the events of package faults.
func TestReference(t *testing.T) {
	const path = "../../docs/scenario-reference.md"
	want := faults.Format.Reference()
	have, err := os.ReadFile(path)
	if *update {
		err = os.WriteFile(path, []byte(want), 0o644)
	} else if err == nil && want != string(have) {
		t.Errorf("%s is not as it is generated; run go test ./scenarios/spec -run Reference -update and read the difference", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
