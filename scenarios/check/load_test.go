package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func asFormat(err error, f **history.FormatError) bool { return errors.As(err, f) }

// save writes a history as the runner does.
func save(t testing.TB, dir string, h *History, ops []oplog.Record, entries []ledger.Entry) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(history.SaveJSON(dir, history.FileMeta, h.Meta))
	if h.Marks != nil {
		must(history.SaveLines(dir, history.FileMarks, h.Marks))
	}
	if h.Samples != nil {
		must(history.SaveLines(dir, history.FileSamples, h.Samples))
	}
	w, err := oplog.Create(filepath.Join(dir, history.FileOps))
	must(err)
	for _, r := range ops {
		w.Append(r)
	}
	must(w.Close())
	var b bytes.Buffer
	must(ledger.Write(&b, slices.Values(entries)))
	must(os.WriteFile(filepath.Join(dir, strings.TrimSuffix(history.FileLedger, ".zst")), b.Bytes(), 0o644))
	must(history.SaveState(dir, history.FileState, func(yield func(history.StateRecord) bool) {
		for r, err := range h.State {
			must(err)
			if !yield(r) {
				return
			}
		}
	}))
}

// TestSamplesAreInOrder: a reading asked for between two ticks may have begun after, and been noted before, that of the
// tick.
func TestSamplesAreInOrder(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, &History{Samples: []history.Sample{{Time: 1}, {Time: 3}, {Time: 2}}, State: items[history.StateRecord](nil)}, nil, nil)
	h, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Samples) != 3 || h.Samples[1].Time != 2 || h.Samples[2].Time != 3 {
		t.Errorf("%+v", h.Samples)
	}
}

func TestSavedRunIsJudgedAlike(t *testing.T) {
	for seed := range uint64(5) {
		w := simulate(seed, 8, 20)
		if seed%2 == 1 {
			w.entries[len(w.entries)-1].ResourceVersion = 1 // older than what is there
		}
		live := w.history()
		live.Marks = []history.Mark{{Time: at(1), What: history.MarkStarted}}
		live.Samples = []history.Sample{{Time: at(2), Parties: map[string]history.Use{history.PartyWatcher: {RSSBytes: 1e6}}}}
		dir := t.TempDir()
		save(t, dir, live, w.ops, w.entries)
		saved, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(saved.Meta, live.Meta) || !slices.Equal(saved.Marks, live.Marks) || len(saved.Samples) != 1 {
			t.Errorf("loaded %+v, saved %+v", saved.Meta, live.Meta)
		}
		a, b := mustJudge(t, live), mustJudge(t, saved)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: live %+v, saved %+v", seed, a.Checks, b.Checks)
		}
		// A second judgement of the same history reads the files anew.
		if again := mustJudge(t, saved); !reflect.DeepEqual(b, again) {
			t.Errorf("seed %d: a second judgement differs", seed)
		}
	}
}

// TestFormerMeta: history.json of former versions carries what G7 and G8 are judged by.
func TestFormerMeta(t *testing.T) {
	w := simulate(3, 4, 10)
	dir := t.TempDir()
	h := w.history()
	h.Samples = samples([]float64{5, 50}, []float64{1, 1})
	save(t, dir, h, w.ops, w.entries)
	meta := `{"rules":{},"ceilings":{"rssBytes":40},"isolation":{"bystander":{"count":9,"p50":1,"p90":1,"p99":3,"max":3},"bystanderBaseline":{"count":9,"p50":1,"p90":1,"p99":1,"max":1}}}`
	if err := os.WriteFile(filepath.Join(dir, history.FileMeta), []byte(meta), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := mustJudge(t, h)
	if v.Checks["G7"].Violations != 1 || v.Checks["G8"].Violations != 1 {
		t.Errorf("G7 %+v, G8 %+v", v.Checks["G7"], v.Checks["G8"])
	}
}

func TestUnusableEvidence(t *testing.T) {
	w := simulate(3, 4, 10)
	good := t.TempDir()
	save(t, good, w.history(), w.ops, w.entries)
	ledgerPlain := strings.TrimSuffix(history.FileLedger, ".zst")
	for _, c := range []struct {
		name, file string
		edit       func([]byte) []byte
		want       string
	}{
		{"no meta", history.FileMeta, nil, "no such file"},
		{"meta with an unknown field", history.FileMeta, func([]byte) []byte { return []byte(`{"strateggy":"keyed"}`) }, `unknown field "strateggy"`},
		{"meta with an unknown mode", history.FileMeta, func([]byte) []byte { return []byte(`{"mode":"strict"}`) }, "want faithful or conditional"},
		{"meta with text after it", history.FileMeta, func(b []byte) []byte { return append(b, '}') }, "text after the object"},
		{"meta with an empty mask", history.FileMeta, func([]byte) []byte { return []byte(`{"rules":{"masks":[{"kind":"Pod","path":[]}]}}`) }, "rules.masks[0]"},
		{"no ledger", ledgerPlain, nil, "is it the folder of one cell"},
		{"a ledger cut within a line", ledgerPlain, func(b []byte) []byte { return b[:len(b)-9] }, "cut short"},
		{"a ledger with a line missing", ledgerPlain, func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			return bytes.Join(slices.Delete(lines, 2, 3), nil)
		}, "ledger line 3"},
		{"an op log that is not compressed data", history.FileOps, func([]byte) []byte { return []byte("plain text") }, history.FileOps},
		{"an op log cut short", history.FileOps, func(b []byte) []byte { return b[:len(b)/2] }, history.FileOps},
		{"an empty op log", history.FileOps, func([]byte) []byte { return nil }, "truncated"},
		{"a state file cut short", history.FileState, func(b []byte) []byte { return b[:len(b)-9] }, history.FileState},
		{"marks with an unknown field", history.FileMarks, func([]byte) []byte { return []byte("\n{\"tyme\":1}\n") }, history.FileMarks + ":2"},
		{"samples that are not JSON", history.FileSamples, func([]byte) []byte { return []byte("x\n") }, history.FileSamples + ":1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, c.file)
			old, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if c.edit == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, c.edit(old), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			h, err := Load(dir)
			if err == nil {
				_, err = Judge(t.Context(), h)
			}
			var f *history.FormatError
			if !asFormat(err, &f) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a FormatError with %q", err, c.want)
			}
		})
	}
}

func TestJudgeStopsWithItsContext(t *testing.T) {
	e := ledger.Entry{Method: "PUT", Kind: "Pod", Name: "web", UID: "u", ResourceVersion: 1, Received: 1, Applied: 2, Responded: 3, Status: 200, Effect: ledger.EffectReplaced}
	ctx, cancel := context.WithCancel(t.Context())
	h := &History{Ledger: func(yield func(ledger.Entry, error) bool) {
		for { // without end
			if e.Seq++; e.Seq == 10 {
				cancel()
			}
			if !yield(e, nil) {
				return
			}
		}
	}}
	if _, err := Judge(ctx, h); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// FuzzJudge feeds whole folders: bad evidence gives an error, never a panic.
func FuzzJudge(f *testing.F) {
	w := simulate(1, 2, 6)
	var lines bytes.Buffer
	h := w.history()
	if err := ledger.Write(&lines, slices.Values(w.entries)); err != nil {
		f.Fatal(err)
	}
	meta, err := json.Marshal(h.Meta)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(meta, lines.Bytes(), []byte(`{"side":"storage","kind":"Pod","name":"p0","digest":"d","bytes":1}`), []byte(`{"time":1,"what":"tamper-edit","kind":"Pod","name":"p0"}`))
	f.Add([]byte(`{"rules":{"kinds":["Pod"]},"canaries":["longenough"],"counters":{"total":{}}}`), []byte{}, []byte{}, []byte(`{"time":1,"what":"started"}`))
	f.Fuzz(func(t *testing.T, meta, led, state, marks []byte) {
		dir := t.TempDir()
		for name, b := range map[string][]byte{history.FileMeta: meta, "ledger.ndjson": led, "state.ndjson": state, history.FileMarks: marks} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		h, err := Load(dir)
		if err != nil {
			return
		}
		v, err := Judge(t.Context(), h)
		if err != nil {
			return
		}
		if len(v.Checks) != len(Guarantees) {
			t.Errorf("%d checks", len(v.Checks))
		}
	})
}
