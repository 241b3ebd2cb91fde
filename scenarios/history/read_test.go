package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

func linesOf(t *testing.T, b []byte) *ndjson.Reader {
	t.Helper()
	lines, err := ndjson.Sniff(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestSaveStateRefuses(t *testing.T) {
	for _, r := range []StateRecord{
		{Side: "both", Kind: "Pod", Name: "web", Digest: "d"},
		{Side: SideStorage, Name: "web", Digest: "d"},
		{Side: SideStorage, Kind: "Pod", Name: "web"},
	} {
		if err := SaveState(t.TempDir(), FileState, slices.Values([]StateRecord{r})); err == nil {
			t.Errorf("%+v was written", r)
		}
	}
}

func FuzzOps(f *testing.F) {
	f.Add([]byte(`{"id":1,"phase":"load","type":"create","thread":0,"kind":"Pod","name":"a","uid":"u","resourceVersion":7,"intended":1,"started":2,"finished":3,"status":201}` + "\n" + `{"checkpoint":1}` + "\n"))
	f.Add([]byte(`{"id":-1,"error":"a \"quoted\" \u00e9","extra":{"a":[1,"]"]},"kind":"Pod","name":"a","type":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for r, err := range judgeable("ops", ndjson.Records[oplog.Record]("op log").Read(linesOf(t, b))) {
			if err != nil {
				var fe *FormatError
				if !errors.As(err, &fe) {
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

// FuzzState also holds the quick scanner to encoding/json: what it accepts must mean the same there.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"side":"storage","kind":"Pod","namespace":"a","name":"b","uid":"u","resourceVersion":18446744073709551615,"digest":"d","content":"c","bytes":3}`))
	f.Add([]byte(`{"side":"apiserver","kind":"Pöd","name":"\ud83d\ude00","digest":"d","bytes":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for r, err := range readState("state", linesOf(t, b)) {
			if err != nil {
				return
			}
			if r.Validate() != nil {
				t.Errorf("%q gave %+v", b, r)
			}
			compareWithJSON(t, b, r)
		}
	})
}

// compareWithJSON checks one single-line record against encoding/json, where that accepts the line and both must mean
// the same: it matches keys without regard to case, takes the last of doubled keys and replaces what is not UTF-8.
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
	known := []string{"side", "kind", "namespace", "name", "uid", "resourceVersion", "digest", "content", "bytes"}
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
		for _, err := range readState("state", linesOf(t, []byte(line))) {
			if err == nil || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", line, err, want)
			}
		}
	}
}
