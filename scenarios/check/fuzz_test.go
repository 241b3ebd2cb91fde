package check

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// compareWithJSON checks one single-line record against encoding/json, where that
// accepts the line and both must mean the same: it matches keys without regard to
// case, takes the last of doubled keys and replaces what is not UTF-8.
func compareWithJSON(t *testing.T, b []byte, got StateRecord) {
	t.Helper()
	line := bytes.Trim(b, "\r\n")
	if bytes.ContainsAny(line, "\n\\") || !utf8.Valid(line) || !exactKeys(line) {
		return
	}
	var want StateRecord
	if err := json.Unmarshal(line, &want); err == nil && got != want {
		t.Errorf("%q: the scanner read %+v, encoding/json %+v", line, got, want)
	}
}

// exactKeys reports whether every key is spelt as in the format, and none twice.
func exactKeys(line []byte) bool {
	known := []string{"side", "kind", "namespace", "name", "uid", "resourceVersion", "digest", "bytes"}
	var seen []string
	d := json.NewDecoder(bytes.NewReader(line))
	if _, err := d.Token(); err != nil {
		return false
	}
	for d.More() {
		key, err := d.Token()
		k, ok := key.(string)
		if err != nil || !ok || !slices.Contains(known, k) || slices.Contains(seen, k) {
			return false
		}
		seen = append(seen, k)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return false
		}
	}
	return true
}

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
		for name, b := range map[string][]byte{FileMeta: meta, "ledger.ndjson": led, "state.ndjson": state, FileMarks: marks} {
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

func TestScannerPlaces(t *testing.T) {
	for line, want := range map[string]string{
		`[]`:                        `state:1: column 1: '[' where an object should stand`,
		`{"side":"x"`:               `state:1: the line ends where a comma or the end of the object should stand`,
		`{"side":1}`:                `state:1: field "side": want a string`,
		`{"bytes":1.5}`:             `state:1: field "bytes": want a whole number in range`,
		`{"bytes":99999999999}`:     `state:1: field "bytes": want a whole number in range`,
		`{"side":"storage"} x`:      `state:1: column 20: 'x' where the end of the line should stand`,
		`{"side":"storage"}`:        `state:1: no kind or no name`,
		`{"side":"other"}`:          `state:1: side "other": want apiserver or storage`,
		`{"a":[1}`:                  `state:1: column 8: '}' where the matching bracket should stand`,
		"{\"a\":\"x\x01\"}":         `state:1: column 8: '\x01' where the rest of a string should stand`,
		`{"resourceVersion":"100"}`: `state:1: field "resourceVersion": want a whole number in range`,
	} {
		for _, err := range ReadState("state", io.Reader(bytes.NewReader([]byte(line)))) {
			if err == nil || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", line, err, want)
			}
		}
	}
}
