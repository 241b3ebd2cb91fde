package shape_test

import (
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

func BenchmarkRequest(b *testing.B) {
	for _, typ := range []string{oplog.TypeCreate, oplog.TypeReady} {
		b.Run(typ, func(b *testing.B) {
			m, op := newMaker(), plan.Op{ID: 1, Type: typ, Target: podOf(12000, 1)}
			b.ReportAllocs()
			for b.Loop() {
				m.Request(op, uids{}, start)
			}
		})
	}
}

func BenchmarkServed(b *testing.B) {
	m, p := newMaker(), podOf(12000, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		typ := podStages[i%len(podStages)]
		m.Served(plan.Op{ID: int64(i + 1), Type: typ, Target: p}, uids{}, uint64(i), start.Add(time.Duration(i)*time.Second))
	}
}
