package check

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// FuzzJudge feeds whole folders: bad evidence gives an error, never a panic.
func FuzzJudge(f *testing.F) {
	w := simulate(1, 2, 6)
	var lines []byte
	h := w.history()
	for i := range w.entries {
		lines = w.entries[i].AppendJSON(lines)
	}
	meta, err := json.Marshal(h.Meta)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(meta, lines, []byte(`{"side":"storage","kind":"Pod","name":"p0","digest":"d","bytes":1}`), []byte(`{"time":1,"what":"tamper-edit","kind":"Pod","name":"p0"}`))
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
