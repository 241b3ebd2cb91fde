package check

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

var benchEntries = flag.Int("entries", 200_000, "requests in the benchmark's ledger; 5000000 is the size that must be judged within 20 s on two cores")

// perObject is how many requests one object's life makes in the benchmark.
const perObject = 8

// writeRun writes a folder with a correct run of n requests: objects of eight
// versions, a tenth deleted, interleaved as by many workers.
func writeRun(tb testing.TB, dir string, n int) {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	objects := n / perObject
	f, err := os.Create(filepath.Join(dir, history.FileLedger))
	must(err)
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	must(err)
	out := bufio.NewWriterSize(z, 1<<20)
	ops, err := oplog.Create(filepath.Join(dir, history.FileOps))
	must(err)
	last := make([]uint64, objects) // versions; 0 where the object was deleted
	seq, rv := uint64(0), uint64(1000)
	const lanes = 64 // objects in the works at a time
	for first := 0; first < objects; first += lanes {
		count := min(lanes, objects-first)
		for step := range perObject {
			for o := first; o < first+count; o++ {
				rv++
				seq++
				now := t0 + int64(seq)*100_000
				name, uid := fmt.Sprintf("pod-%07d", o), fmt.Sprintf("00000000-0000-4000-8000-%012d", o)
				e := ledger.Entry{
					Seq: seq, Method: "PUT", Cluster: "BCS-K8S-90001", Kind: "Pod", Namespace: fmt.Sprintf("bench-%02d", o%10), Name: name,
					UID: uid, ResourceVersion: rv, Bytes: 3100, Received: now + 2e6, Applied: now + 89e6, Responded: now + 90e6,
					Status: 200, Effect: ledger.EffectReplaced,
				}
				r := oplog.Record{
					ID: int64(seq), Phase: oplog.PhaseLoad, Type: oplog.TypePatch, Kind: "Pod", Namespace: e.Namespace, Name: name, UID: uid,
					ResourceVersion: rv, Intended: now, Started: now, Finished: now + 1e6, Status: 200,
				}
				deleted := o%10 == 0 && step == perObject-1
				switch {
				case step == 0:
					e.Effect, r.Type = ledger.EffectCreated, oplog.TypeCreate
				case deleted:
					e.Method, e.Effect, e.ResourceVersion, e.Bytes = "DELETE", ledger.EffectDeleted, rv-uint64(count), 0
					r.Type = oplog.TypeDelete
				}
				must(json.NewEncoder(out).Encode(e))
				ops.Append(r)
				if step == perObject-1 && !deleted {
					last[o] = rv
				}
			}
		}
	}
	must(out.Flush())
	must(z.Close())
	must(f.Close())
	must(ops.Close())
	must(history.SaveState(dir, history.FileState, func(yield func(history.StateRecord) bool) {
		for o, rv := range last {
			name, uid := fmt.Sprintf("pod-%07d", o), fmt.Sprintf("00000000-0000-4000-8000-%012d", o)
			for _, side := range []history.Side{history.SideApiserver, history.SideStorage} {
				if rv != 0 && !yield(history.StateRecord{Side: side, Kind: "Pod", Namespace: fmt.Sprintf("bench-%02d", o%10), Name: name, UID: uid, ResourceVersion: rv, Digest: uid[4:], Bytes: 3000}) {
					return
				}
			}
		}
	}))
	must(history.SaveJSON(dir, history.FileMeta, Meta{
		Cluster: "BCS-K8S-90001", Rules: Rules{Kinds: []string{"Pod"}},
		Counters: pods(result.Events{Received: int64(seq), Sent: int64(seq)}),
	}))
}

// BenchmarkDigest is what a former or final state costs, once for each side, when a cell is over.
func BenchmarkDigest(b *testing.B) {
	for _, size := range []int{3 << 10, 10 << 10} {
		var env []string
		for n := 0; n < size-300; n += 46 {
			env = append(env, fmt.Sprintf(`{"name":"VARIABLE_%06d","value":"value-%06d"}`, n, n))
		}
		raw := Raw{Side: history.SideStorage, Kind: "Pod", JSON: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",`+
			`"namespace":"a","uid":"u","resourceVersion":"7"},"spec":{"containers":[{"name":"app","env":[%s]}]},"status":{"phase":"Running"}}`,
			strings.Join(env, ","))}
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw.JSON)))
			for b.Loop() {
				if _, err := Digest(raw, Rules{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJudge judges a saved run with op log and states, and computes its figures in
// the same pass, decompression included. MiB-from-OS is the most memory that the
// process ever had, from writing the run on.
//
//	go test ./scenarios/check -run '^$' -bench Judge -benchtime 1x -entries 5000000
func BenchmarkJudge(b *testing.B) {
	dir := b.TempDir()
	writeRun(b, dir, *benchEntries)
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		h, err := Load(dir)
		if err != nil {
			b.Fatal(err)
		}
		figures := measure.New(benchCell(), nil, nil, nil)
		h.Bounds = func(m Measured) (*Ceilings, *Isolation) {
			c, err := figures.Cell(m.Changes)
			if err != nil || c.Freshness.Count != m.Operations {
				b.Errorf("%+v: %v", c.Freshness, err)
			}
			return nil, nil
		}
		v, err := Judge(b.Context(), h, figures)
		if err != nil {
			b.Fatal(err)
		}
		if failed := failing(v); len(failed) > 0 || v.Checks["G2"].Judged == 0 {
			b.Fatal(failed)
		}
	}
	b.ReportMetric(float64(*benchEntries)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-from-OS")
}

// benchCell is the cell of the benchmark's run.
func benchCell() *history.Cell {
	s := spec.Default()
	s.Load.Model, s.Load.Threads = "closed", 5
	return &history.Cell{Scenario: s, DrainEnd: t0 + int64(*benchEntries)*100_000 + 1e9, CPUs: 2, Watcher: history.WatcherRun{Own: true}}
}
