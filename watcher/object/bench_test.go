package object_test

import (
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

func bench(b *testing.B, fn func(raw []byte) error) {
	raw := podJSON("web-7d4b9c-x2x9z")
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := fn(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	bench(b, func(raw []byte) error { _, err := object.Scan(raw); return err })
}

func BenchmarkBuild(b *testing.B) {
	var r object.Recipe
	bench(b, func(raw []byte) error {
		m, err := object.Scan(raw)
		if err != nil {
			return err
		}
		_, err = r.Build(raw, &m, "Pod", nil)
		return err
	})
}

// TestScanAndStripAllocateOnce is the bound that the cost of a cached object rests on: the cut list and the copy.
func TestScanAndStripAllocateOnce(t *testing.T) {
	raw := podJSON("web-1")
	if n := testing.AllocsPerRun(100, func() { _, _ = object.StripManagedFields(raw) }); n > 2 {
		t.Errorf("%v allocations, want at most 2", n)
	}
}
