package check

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func asFormat(err error, f **FormatError) bool { return errors.As(err, f) }

// save writes a history as the runner does.
func save(t testing.TB, dir string, h *History, ops []oplog.Record, entries []ledger.Entry) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(SaveMeta(dir, h.Meta))
	if h.Marks != nil {
		must(SaveMarks(dir, h.Marks))
	}
	if h.Samples != nil {
		must(SaveSamples(dir, h.Samples))
	}
	w, err := oplog.Create(filepath.Join(dir, FileOps))
	must(err)
	for _, r := range ops {
		w.Append(r)
	}
	must(w.Close())
	var b []byte
	for i := range entries {
		b = entries[i].AppendJSON(b)
	}
	must(os.WriteFile(filepath.Join(dir, strings.TrimSuffix(FileLedger, zstdSuffix)), b, 0o644))
	s, err := CreateState(dir)
	must(err)
	for r, err := range h.State {
		must(err)
		must(s.Write(r))
	}
	must(s.Close())
}

func TestSavedRunIsJudgedAlike(t *testing.T) {
	for seed := range uint64(5) {
		w := simulate(seed, 8, 20)
		if seed%2 == 1 && !latePut(newRand(seed), w) {
			continue
		}
		live := w.history()
		live.Marks = []Mark{{Time: at(1), What: MarkStarted}}
		live.Samples = []Sample{{Time: at(2), RSSBytes: new(1e6)}}
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

func TestUnusableEvidence(t *testing.T) {
	w := simulate(3, 4, 10)
	good := t.TempDir()
	save(t, good, w.history(), w.ops, w.entries)
	ledgerPlain := strings.TrimSuffix(FileLedger, zstdSuffix)
	for _, c := range []struct {
		name, file string
		edit       func([]byte) []byte
		want       string
	}{
		{"no meta", FileMeta, nil, "no such file"},
		{"meta with an unknown field", FileMeta, func([]byte) []byte { return []byte(`{"strateggy":"keyed"}`) }, `unknown field "strateggy"`},
		{"meta with an unknown mode", FileMeta, func([]byte) []byte { return []byte(`{"mode":"strict"}`) }, "want faithful or conditional"},
		{"meta with text after it", FileMeta, func(b []byte) []byte { return append(b, '}') }, "text after the object"},
		{"meta with an empty mask", FileMeta, func([]byte) []byte { return []byte(`{"rules":{"masks":[{"kind":"Pod","path":[]}]}}`) }, "rules.masks[0]"},
		{"no ledger", ledgerPlain, nil, "is it the folder of one cell"},
		{"a ledger cut within a line", ledgerPlain, func(b []byte) []byte { return b[:len(b)-9] }, "cut short"},
		{"a ledger with a line missing", ledgerPlain, func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			return bytes.Join(slices.Delete(lines, 2, 3), nil)
		}, "ledger line 3"},
		{"an op log that is not compressed data", FileOps, func([]byte) []byte { return []byte("plain text") }, FileOps},
		{"an op log cut short", FileOps, func(b []byte) []byte { return b[:len(b)/2] }, FileOps},
		{"an empty op log", FileOps, func([]byte) []byte { return nil }, "op log is truncated"},
		{"a state file cut short", FileState, func(b []byte) []byte { return b[:len(b)-9] }, FileState},
		{"marks with an unknown field", FileMarks, func([]byte) []byte { return []byte("\n{\"tyme\":1}\n") }, FileMarks + ":2"},
		{"samples that are not JSON", FileSamples, func([]byte) []byte { return []byte("x\n") }, FileSamples + ":1"},
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
			var f *FormatError
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

func TestStateWriterRefuses(t *testing.T) {
	w, err := NewStateWriter(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []StateRecord{
		{Side: "both", Kind: "Pod", Name: "web", Digest: "d"},
		{Side: SideStorage, Name: "web", Digest: "d"},
		{Side: SideStorage, Kind: "Pod", Name: "web"},
	} {
		if err := w.Write(r); err == nil {
			t.Errorf("%+v was written", r)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzReadOps(f *testing.F) {
	f.Add([]byte(`{"id":1,"phase":"load","type":"create","thread":0,"kind":"Pod","name":"a","uid":"u","resourceVersion":7,"intended":1,"started":2,"finished":3,"status":201}` + "\n" + `{"checkpoint":1}` + "\n"))
	f.Add([]byte(`{"id":-1,"error":"a \"quoted\" \u00e9","extra":{"a":[1,"]"]},"kind":"Pod","name":"a","type":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for r, err := range ReadOps("ops", bytes.NewReader(b)) {
			if err != nil {
				var fe *FormatError
				if !asFormat(err, &fe) {
					t.Errorf("%q: %v", b, err)
				}
				return
			}
			if r.Kind == "" || r.Name == "" || r.Type == "" {
				t.Errorf("%q gave %+v", b, r)
			}
		}
	})
}

// FuzzReadState also holds the quick scanner to encoding/json: what it accepts
// must mean the same there.
func FuzzReadState(f *testing.F) {
	f.Add([]byte(`{"side":"storage","kind":"Pod","namespace":"a","name":"b","uid":"u","resourceVersion":18446744073709551615,"digest":"d","bytes":3}`))
	f.Add([]byte(`{"side":"apiserver","kind":"Pöd","name":"\ud83d\ude00","digest":"d","bytes":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for r, err := range ReadState("state", bytes.NewReader(b)) {
			if err != nil {
				return
			}
			if r.validate() != nil {
				t.Errorf("%q gave %+v", b, r)
			}
			compareWithJSON(t, b, r)
		}
	})
}
