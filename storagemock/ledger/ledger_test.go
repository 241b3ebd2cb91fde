package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func uuid(n uint64) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(n*2654435761), n&0xffff, n&0xfff, n>>4&0xfff, n*0x9e3779b97f4a7c15&0xffffffffffff)
}

// random makes an entry with everything that may differ; names include what only a hostile client would send.
func random(r *rand.Rand) ledger.Entry {
	names := []string{"web-1", "web-2", "a\"b\\c", "é\u2028", "line\nbreak", "", strings.Repeat("n", 300)}
	uids := []string{"", uuid(1), uuid(2), "uid-web-abc-1", "ABCDEF00-0000-4000-8000-000000000000"}
	effects := []string{ledger.EffectCreated, ledger.EffectReplaced, ledger.EffectDeleted, ledger.EffectNone, ledger.EffectRejected}
	return ledger.Entry{
		Instance: r.IntN(3), Method: []string{"PUT", "DELETE"}[r.IntN(2)],
		Cluster: []string{"", "BCS-K8S-90001"}[r.IntN(2)], Kind: []string{"Pod", "Node"}[r.IntN(2)],
		Namespace: []string{"", "team-a"}[r.IntN(2)], Name: names[r.IntN(len(names))], UID: uids[r.IntN(len(uids))],
		ResourceVersion: []uint64{0, 107, 1<<64 - 1}[r.IntN(3)], Bytes: r.IntN(1 << 20),
		Received: r.Int64(), Applied: r.Int64N(2) * r.Int64(), Responded: -r.Int64N(2) * 5, Gone: r.Int64N(2) * 7,
		Status: []int{0, 200, 503}[r.IntN(3)], Code: []int{0, 1405082}[r.IntN(2)],
		Effect: effects[r.IntN(5)], Fault: []string{"", "503", "stall(5s)"}[r.IntN(3)],
	}
}

func fill(t testing.TB, n int) (*ledger.Ledger, []ledger.Entry) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	l := ledger.New()
	var want []ledger.Entry
	for i := range n {
		e := random(r)
		if e.Seq = l.Append(e); e.Seq != uint64(i+1) {
			t.Fatalf("Append = %d, want %d", e.Seq, i+1)
		}
		want = append(want, e)
	}
	return l, want
}

func TestMemoryRoundTrip(t *testing.T) {
	l, want := fill(t, 20_000)
	if got := slices.Collect(l.From(1)); !slices.Equal(got, want) {
		t.Fatal("what came out is not what went in")
	}
	if got := slices.Collect(l.From(19_990)); !slices.Equal(got, want[19_989:]) {
		t.Error("From(19990) is not the tail")
	}
	l.Answered(5, 42, 503, 7)
	l.Answered(1<<40, 42, 200, 0) // no such entry: nothing to complete
	l.Gone(5, 41)
	if got := slices.Collect(l.From(5))[0]; got.Responded != 42 || got.Status != 503 || got.Code != 7 || got.Gone != 41 {
		t.Errorf("after Answered and Gone: %+v", got)
	}
	want[4].Responded, want[4].Status, want[4].Code = 42, 503, 7
}

func TestFileRoundTrip(t *testing.T) {
	l, want := fill(t, 5_000)
	for name, write := range map[string]func(io.Writer) error{
		"plain": func(w io.Writer) error { return ledger.Write(w, l.From(1)) },
		"zstd":  func(w io.Writer) error { return ledger.WriteZstd(w, l.From(1)) },
	} {
		var buf bytes.Buffer
		if err := write(&buf); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		i := 0
		for e, err := range open(t, buf.Bytes()).All() {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e != want[i] {
				t.Fatalf("%s, entry %d:\n got %+v\nwant %+v", name, i+1, e, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Errorf("%s: read %d of %d", name, i, len(want))
		}
	}
}

// open reads a ledger that is in memory.
func open(t testing.TB, text []byte) *ledger.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestDamagedFilesAreNoticed(t *testing.T) {
	l, _ := fill(t, 3_000)
	var plain, packed bytes.Buffer
	if err := ledger.Write(&plain, l.From(1)); err != nil {
		t.Fatal(err)
	}
	if err := ledger.WriteZstd(&packed, l.From(1)); err != nil {
		t.Fatal(err)
	}
	good := `{"seq":1,"method":"PUT","kind":"Pod","name":"a","bytes":1,"received":1,"applied":2,"responded":3,"status":200,"code":0,"effect":"created"}` + "\n"
	flipped := bytes.Clone(packed.Bytes())
	flipped[len(flipped)/2] ^= 0x10
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"plain cut":   {plain.Bytes()[:plain.Len()-3], "line 3000: cut short"},
		"zstd cut":    {packed.Bytes()[:packed.Len()/2], "cut short"},
		"zstd tail":   {packed.Bytes()[:packed.Len()-1], "cut short"},
		"zstd flip":   {flipped, "ledger line"},
		"not json":    {[]byte("<html>\n"), "line 1: want one entry as JSON"},
		"other field": {[]byte(`{"seq":1,"color":"red"}` + "\n"), "color"},
		"gap":         {[]byte(good + strings.Replace(good, `"seq":1`, `"seq":3`, 1)), "line 2: seq 3 follows 1; entries are missing"},
		"backwards":   {[]byte(good + good), "line 2: seq 1 follows 1; it must grow"},
		"no seq":      {[]byte(strings.Replace(good, `"seq":1`, `"seq":0`, 1)), "counts from 1"},
		"effect":      {[]byte(strings.Replace(good, "created", "exploded", 1)), `effect "exploded"`},
		"no kind":     {[]byte(strings.Replace(good, "Pod", "", 1)), "method or kind is missing"},
		"blank line":  {[]byte(good + "\n"), "line 2"},
		"long line":   {bytes.Repeat([]byte("x"), 2<<20), "longer than"},
	} {
		var last error
		for _, err := range open(t, tc.in).All() {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, last, tc.want)
		}
	}
	for _, err := range open(t, []byte(good+strings.Replace(good, `"seq":1`, `"seq":2`, 1))).All() {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	l := ledger.New()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 2_000 {
				seq := l.Append(ledger.Entry{Method: "PUT", Kind: "Pod", Name: fmt.Sprintf("p-%d-%d", w, i%50), Effect: ledger.EffectCreated})
				l.Answered(seq, 1, 200, 0)
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			var last uint64
			for e := range l.From(1) {
				if e.Seq != last+1 {
					t.Errorf("seq %d follows %d", e.Seq, last)
				}
				last = e.Seq
			}
		}
	})
	wg.Wait()
	names := map[string]int{}
	for e := range l.From(1) {
		names[e.Name]++
	}
	if l.Len() != 8_000 || len(names) != 200 {
		t.Errorf("%d entries of %d keys, want 8000 of 200", l.Len(), len(names))
	}
}

// churn appends n requests as a churn of pods makes them: eight per pod, each pod with a name and a uid of its own.
func churn(l *ledger.Ledger, n int) {
	for i := range n {
		pod := uint64(i / 8)
		e := ledger.Entry{
			Method: "PUT", Cluster: "BCS-K8S-90001", Kind: "Pod", Namespace: "wb-1234-00", Name: fmt.Sprintf("pod-%07d-abcde", pod), UID: uuid(pod),
			ResourceVersion: uint64(i), Bytes: 3072, Received: int64(1767225600e9 + i*50_000), Applied: int64(1767225600e9 + i*50_000 + 87e6),
			Responded: int64(1767225600e9 + i*50_000 + 87.1e6), Status: 200, Effect: ledger.EffectReplaced,
		}
		if i%8 == 0 {
			e.Effect = ledger.EffectCreated
		}
		l.Append(e)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Five million requests in 1 GiB are 214 bytes for each. Twice what is live may be resident under the collector's
// default pace, so half of that is the bound.
func TestMemoryBound(t *testing.T) {
	const n, bound = 500_000, 107
	before := heapInUse()
	l := ledger.New()
	churn(l, n)
	perEntry := float64(heapInUse()-before) / n
	t.Logf("%.1f bytes per request", perEntry)
	if perEntry > bound {
		t.Errorf("%.1f bytes per request, want at most %d", perEntry, bound)
	}
	runtime.KeepAlive(l)
}

func FuzzReader(f *testing.F) {
	l, _ := fill(f, 20)
	var plain, packed bytes.Buffer
	if err := ledger.Write(&plain, l.From(1)); err != nil {
		f.Fatal(err)
	}
	if err := ledger.WriteZstd(&packed, l.From(1)); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(path, in, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ledger.Open(path)
		if err != nil {
			return
		}
		defer func() { _ = r.Close() }()
		for e, err := range r.All() {
			if err != nil {
				return
			}
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			line = append(line, '\n')
			for got, err := range open(t, line).All() {
				if err != nil || got != e {
					t.Fatalf("%s reads back as %+v, %v; want %+v", line, got, err, e)
				}
			}
		}
	})
}
