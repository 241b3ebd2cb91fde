package record

import (
	"testing"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// shipped is a trace of the embedded cluster under churn, anonymised. To make it anew:
//
//	go test ./loadgen/record -run TestRecordsEachWrite -args -save testdata/churn.trace.zst
const shipped = "testdata/churn.trace.zst"

// TestShippedTrace: a trace that an earlier version wrote can still be read.
func TestShippedTrace(t *testing.T) {
	r, err := Open(shipped)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	kinds, types := map[string]int{}, map[Type]int{}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		types[f.Type]++
		if f.Type.HoldsObject() {
			kinds[jsonscan.Unquote(jsonscan.Lookup(f.Object, "kind"))]++
		}
	}
	h := r.Header()
	if !h.Anonymised || h.ClusterVersion != "v1.36.3" || len(h.Resources) != 9 {
		t.Errorf("header %+v", h)
	}
	if types[Synced] != len(h.Resources) || types[Added] < 40 || types[Modified] < 200 || types[Deleted] < 40 || types[Gap] != 0 || kinds["Pod"] < 200 || kinds["Node"] < 2 || kinds["Lease"] < 2 || kinds["ConfigMap"] < 2 {
		t.Errorf("frames %v, objects %v", types, kinds)
	}
	t.Logf("frames %v, objects %v", types, kinds)
}
