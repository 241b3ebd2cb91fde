package check

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

func samples(rss, goroutines []float64) []history.Sample {
	var all []history.Sample
	for i := range rss {
		all = append(all, history.Sample{Time: at(int64(i) * 60_000), Goroutines: &goroutines[i],
			Parties: map[string]history.Use{history.PartyWatcher: {RSSBytes: rss[i]}}})
	}
	return all
}

// The load of these cells lasts from minute 1 to minute 18.
var loaded = Meta{LoadStarted: at(30_000), LoadFinished: at(18 * 60_000)}

func bounds(c Ceilings) Meta {
	m := loaded
	m.Ceilings = &c
	return m
}

func flatLine(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func growing(n int, from, step float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = from + step*float64(i)
	}
	return all
}

func restarted(more ...history.Mark) []history.Mark {
	return append([]history.Mark{
		{Time: at(0), What: history.MarkStarted}, {Time: at(2), What: history.MarkReady}, {Time: at(22), What: history.MarkKilled},
		{Time: at(24), What: history.MarkStarted}, {Time: at(26), What: history.MarkReady},
	}, more...)
}

func tampered(what string) []history.Mark {
	return []history.Mark{{Time: at(100), What: what, Kind: "Pod", Namespace: "a", Name: "web"}}
}

var sent = []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}

var others = []struct {
	name    string
	guards  string // the guarantee looked at
	story   story
	verdict string
}{
	{"no ceilings", "G7", story{samples: samples(flatLine(20, 1e8), flatLine(20, 50)), meta: loaded}, result.NotJudged},
	{"no samples", "G7", story{meta: bounds(Ceilings{RSSBytes: new(1e8)})}, result.NotJudged},
	{"under the ceilings", "G7", story{samples: samples(flatLine(20, 9e7), flatLine(20, 50)),
		meta: bounds(Ceilings{RSSBytes: new(1e8), Goroutines: new(60.0), GoroutinesReturn: new(5.0), SlopePercentPerMinute: new(1.0), SlopeWindow: 20 * 60e9})}, result.Pass},
	{"memory over the ceiling", "G7", story{samples: samples(slices.Concat(flatLine(10, 9e7), []float64{1.1e8}, flatLine(9, 9e7)), flatLine(20, 50)),
		meta: bounds(Ceilings{RSSBytes: new(1e8)})}, result.Fail},
	{"one figure was never read", "G7", story{samples: samples(flatLine(20, 9e7), flatLine(20, 50)),
		meta: bounds(Ceilings{RSSBytes: new(1e8), Sockets: new(60.0)})}, result.NotJudged},
	{"one figure was never read, another is over its ceiling", "G7", story{samples: samples(flatLine(20, 9e7), flatLine(20, 50)),
		meta: bounds(Ceilings{RSSBytes: new(1e7), Sockets: new(60.0)})}, result.Fail},
	{"goroutines do not return", "G7", story{samples: samples(flatLine(20, 9e7), slices.Concat(flatLine(10, 50), flatLine(10, 56))),
		meta: bounds(Ceilings{GoroutinesReturn: new(5.0)})}, result.Fail},
	{"goroutines return", "G7", story{samples: samples(flatLine(20, 9e7), slices.Concat([]float64{50}, flatLine(17, 500), flatLine(2, 55))),
		meta: bounds(Ceilings{GoroutinesReturn: new(5.0)})}, result.Pass},
	{"memory grows", "G7", story{samples: samples(growing(20, 1e8, 2e6), flatLine(20, 50)),
		meta: bounds(Ceilings{SlopePercentPerMinute: new(1.0), SlopeWindow: 20 * 60e9})}, result.Fail},
	{"too few samples for a slope", "G7", story{samples: samples(growing(4, 1e8, 2e6), flatLine(4, 50)),
		meta: bounds(Ceilings{SlopePercentPerMinute: new(1.0), SlopeWindow: 20 * 60e9})}, result.NotJudged},
	{"sockets were never read", "G7", story{samples: samples(flatLine(20, 9e7), flatLine(20, 50)),
		meta: bounds(Ceilings{Sockets: new(10.0)})}, result.NotJudged},

	{"others as fresh as undisturbed", "G8", story{meta: Meta{Isolation: &Isolation{
		Bystander: &result.Quantiles{Count: 9, P99: 0.19}, BystanderBaseline: &result.Quantiles{Count: 9, P99: 0.1}}}}, result.Pass},
	{"bystander delayed", "G8", story{meta: Meta{Isolation: &Isolation{
		Bystander: &result.Quantiles{Count: 9, P99: 0.21}, BystanderBaseline: &result.Quantiles{Count: 9, P99: 0.1}}}}, result.Fail},
	{"other keys delayed", "G8", story{meta: Meta{Isolation: &Isolation{
		Others: &result.Quantiles{Count: 9, P99: 0.23}, OthersBaseline: &result.Quantiles{Count: 9, P99: 0.1}}}}, result.Fail},
	{"no other key was fresh", "G8", story{meta: Meta{Isolation: &Isolation{
		Bystander: &result.Quantiles{Count: 9, P99: 0.1}, BystanderBaseline: &result.Quantiles{Count: 9, P99: 0.1},
		Others: &result.Quantiles{}, OthersBaseline: &result.Quantiles{Count: 9, P99: 0.1}}}}, result.NotJudged},
	{"no baseline", "G8", story{meta: Meta{Isolation: &Isolation{Bystander: &result.Quantiles{Count: 9, P99: 0.21}}}}, result.NotJudged},
	{"a baseline without samples", "G8", story{meta: Meta{Isolation: &Isolation{
		Bystander: &result.Quantiles{}, BystanderBaseline: &result.Quantiles{}}}}, result.NotJudged},

	{"never restarted", "G9", story{ops: onePod, requests: sent}, result.NotJudged},
	{"restarted and converged", "G9", story{ops: onePod, requests: sent, marks: restarted()}, result.Pass},
	{"deleted while down and left over", "G9", story{ops: slices.Concat(onePod[:2], []string{"23 delete web u1"}),
		requests: []string{"15 PUT web u1 100", "21 PUT web u1 105"}, marks: restarted()}, result.Fail},

	{"nothing tampered with", "G12", story{ops: onePod, requests: sent}, result.NotJudged},
	{"no period known", "G12", story{ops: onePod, requests: sent, marks: tampered(history.MarkTamperRemove)}, result.NotJudged},
	{"removed and put back", "G12", story{ops: onePod, meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperRemove),
		requests: slices.Concat(sent, []string{"100 DELETE web tamper", "4000 PUT web u1 110"})}, result.Pass},
	{"removed and put back by the harness only", "G12", story{ops: onePod, meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperRemove),
		requests: slices.Concat(sent, []string{"100 DELETE web tamper", "4000 PUT web u1 110 tamper"})}, result.Fail},
	{"edited and never repaired", "G12", story{ops: onePod, meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperEdit),
		requests: slices.Concat(sent, []string{"100 PUT web u1 104 tamper"})}, result.Fail},
	{"repaired too late", "G12", story{ops: onePod, meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperEdit),
		requests: slices.Concat(sent, []string{"100 PUT web u1 104 tamper", "9000 PUT web u1 110"})}, result.Fail},
	{"an added record removed", "G12", story{meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperAdd),
		requests: []string{"100 PUT web u9 1 tamper", "3000 DELETE web"}}, result.Pass},
	{"an added record left", "G12", story{meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperAdd),
		requests: []string{"100 PUT web u9 1 tamper"}}, result.Fail},
	{"deleted soon after", "G12", story{ops: slices.Concat(onePod, []string{"300 delete web u1"}), meta: Meta{SyncPeriod: 5e9}, marks: tampered(history.MarkTamperRemove),
		requests: slices.Concat(sent, []string{"100 DELETE web tamper", "305 DELETE web"})}, result.NotJudged},
	{"the record ends before the time is up", "G12", story{ops: onePod, meta: Meta{SyncPeriod: 5e9, Until: at(2000)}, marks: tampered(history.MarkTamperRemove),
		requests: slices.Concat(sent, []string{"100 DELETE web tamper"})}, result.NotJudged},
	{"tampering is no violation of order", "G4", story{ops: recreated[:4], marks: tampered(history.MarkTamperRemove),
		requests: []string{"15 PUT web u1 100", "20 DELETE web tamper", "35 PUT web u1 110", "45 DELETE web"}}, result.Pass},

	{"no canaries", "G13", story{ops: onePod, requests: sent}, result.NotJudged},
	{"requests after the end are not judged", "G2", story{ops: onePod, meta: Meta{Until: at(50)},
		requests: slices.Concat(sent, []string{"60 PUT web u1 100"})}, result.Pass},
}

func TestOthers(t *testing.T) {
	var golden strings.Builder
	for _, c := range others {
		t.Run(c.name, func(t *testing.T) {
			v := mustJudge(t, c.story.history(t))
			got := v.Checks[c.guards]
			if got.Verdict != c.verdict {
				t.Errorf("%s: %+v, want %s", c.guards, got, c.verdict)
			}
			writeCheck(&golden, c.name, c.guards, got)
			if got.Verdict == result.NotJudged {
				golden.WriteString(c.name + " / " + c.guards + ": not judged: " + got.Note + "\n")
			}
		})
	}
	compareGolden(t, "others.golden", golden.String())
}

func TestCanaries(t *testing.T) {
	const canary = "canary<7f3a>&secret"
	zip := func(b []byte) []byte {
		e, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return e.EncodeAll(b, nil)
	}
	gz := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	long := bytes.Repeat([]byte("x"), searchChunk-5)
	for _, c := range []struct {
		name, file string
		content    []byte
		form       string // empty: clean
	}{
		{"clean", "log", []byte("nothing here canary<7f3a"), ""},
		{"plain", "logs/watcher.log", []byte("a " + canary + " b"), "plain"},
		{"in JSON", "state", []byte(`{"x":"canary\u003c7f3a\u003e\u0026secret"}`), "JSON"},
		{"in a URL", "log", []byte("GET /?q=canary%3C7f3a%3E%26secret"), "URL"},
		{"hex", "log", []byte(hex.EncodeToString([]byte("xy" + canary))), "hex"},
		{"base64 as it is", "log", []byte(base64.StdEncoding.EncodeToString([]byte(canary))), "base64"},
		{"base64 within more", "log", []byte(base64.StdEncoding.EncodeToString([]byte("k:" + canary + "!!"))), "base64"},
		{"base64 URL, other alignment", "log", []byte(base64.RawURLEncoding.EncodeToString([]byte("kk:x" + canary + "!!"))), "base64"},
		{"across two reads", "log", append(long, canary...), "plain"},
		{"compressed with zstd", "ledger.ndjson.zst", zip([]byte("…" + canary)), "plain"},
		{"compressed with gzip", "x.gz", gz([]byte("…" + canary)), "plain"},
		{"clean and compressed", "x.zst", zip(bytes.Repeat([]byte("clean "), 1<<17)), ""},
		{"the list of canaries itself", history.FileMeta, []byte(canary), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.content, 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := searched(t, dir, "another-canary", canary)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%s holds canary 1 (%s) at byte ", c.file, c.form)
			if c.form == "" && s.Violations != 0 || c.form != "" && (s.Violations != 1 || !strings.HasPrefix(s.Counterexample, want)) {
				t.Errorf("found %+v, want form %s", s, c.form)
			}
			if strings.Contains(s.Counterexample, canary) {
				t.Error("the report of a leak repeats the secret")
			}
		})
	}
}

// searched is G13 of a folder.
func searched(t *testing.T, dir string, canaries ...string) (result.Check, error) {
	t.Helper()
	j := newJudge(&History{Dir: dir, Meta: Meta{Canaries: canaries}})
	err := j.secrecy(t.Context())
	return j.tally["G13"].check(), err
}

func TestCanaryErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := searched(t, dir, "short"); err == nil || !strings.Contains(err.Error(), "at least 8") {
		t.Errorf("short: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.zst"), []byte("not zstd at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := searched(t, dir, "long-enough"); err == nil || !strings.Contains(err.Error(), "x.zst") {
		t.Errorf("a file that cannot be read must not pass: %v", err)
	}
}

func TestSecrecyVerdict(t *testing.T) {
	w := simulate(1, 2, 6)
	h := w.history()
	h.Canaries = []string{"canary-0123456789"}
	dir := t.TempDir()
	save(t, dir, h, w.ops, w.entries)
	judge := func() result.Check {
		h, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return mustJudge(t, h).Checks["G13"]
	}
	if c := judge(); c.Verdict != result.Pass || c.Judged == 0 {
		t.Errorf("clean: %+v", c)
	}
	if err := os.WriteFile(filepath.Join(dir, "k8s-watch.log"), []byte("PUT canary-0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := judge(); c.Verdict != result.Fail || !strings.Contains(c.Counterexample, "k8s-watch.log") {
		t.Errorf("leaked: %+v", c)
	}
}

// TestRestartsThatShareACatchUp: a watcher that ended before storage caught up is not passed off as one under which it
// did.
func TestRestartsThatShareACatchUp(t *testing.T) {
	again := func(ms int64) []history.Mark {
		return []history.Mark{{Time: at(ms), What: history.MarkKilled}, {Time: at(ms + 1), What: history.MarkStarted}, {Time: at(ms + 2), What: history.MarkReady}}
	}
	converged := []history.Mark{{Time: at(59), What: history.MarkConverged}}
	for _, tc := range []struct {
		name string
		more []history.Mark
		want string
	}{
		{"each", converged, "storage caught up after 1 of 1 restarts while the load went on"},
		{"one ended before", slices.Concat(again(40), converged), "storage caught up after 1 of 2 restarts while the load went on; 1 watchers ended before that and are judged with the next"},
		{"the last is not", slices.Concat(converged, again(60), again(70)), "storage caught up after 1 of 3 restarts while the load went on; the last 2 restarts are judged by the final states alone"},
	} {
		v := mustJudge(t, story{ops: onePod, requests: sent, marks: restarted(tc.more...)}.history(t))
		if c := v.Checks["G9"]; c.Verdict != result.Pass || c.Note != tc.want {
			t.Errorf("%s: %s %q, want %q", tc.name, c.Verdict, c.Note, tc.want)
		}
	}
}
