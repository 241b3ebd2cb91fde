package render

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// poisoned puts hostile text into every text of a value, behind what is there, and into the
// keys of maps beside those that are there.
func poisoned(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(v.String() + hostile)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poisoned(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "Schema", "Verdict", "HDR", "Model", "Arrival", "Cell", "Dir":
			default:
				poisoned(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poisoned(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			poisoned(e)
			v.SetMapIndex(k, e)
			if key := k.String() + hostile; v.Type().Elem().Kind() != reflect.Interface {
				v.SetMapIndex(reflect.ValueOf(key), e)
			}
		}
	}
}

// TestHostileEverywhere: whatever text a record has, no format of a run, a matrix or a folder
// lets it out of its place.
func TestHostileEverywhere(t *testing.T) {
	res := fixture(t)
	res.Run.Crashed = []result.Crash{{ID: "c", Why: "w"}}
	res.Run.Resumed = []result.Resumption{{Started: historyStart, Finished: historyStart, Environment: res.Environment, Cells: []result.Rerun{{ID: "r", Why: "w"}}}}
	res.Thresholds = []result.Threshold{{Metric: "freshness.p99", Value: new(1.0)}}
	for i := range res.Cells {
		res.Cells[i].Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 3, Counterexample: "x", Note: "n"}
	}
	poisoned(reflect.ValueOf(res))
	m := matrixOfAll()
	poisoned(reflect.ValueOf(m))
	tuned, doc := tuning(), document()
	poisoned(reflect.ValueOf(tuned))
	poisoned(reflect.ValueOf(doc))
	doc.Sections = doc.Sections[:1]
	doc.Sections[0].ID = "" // the program's own, as is the mark
	of := func(write func(io.Writer, *result.Results) error) func(io.Writer) error {
		return func(w io.Writer) error { return write(w, res) }
	}
	for format, write := range map[string]func(io.Writer) error{
		"page": of(HTML), "md": of(Markdown), "terminal": func(w io.Writer) error { return Terminal(w, res, TerminalOptions{Width: 120, Explain: true}) },
		"matrix page": func(w io.Writer) error { return DocumentHTML(w, Matrix(m, t.TempDir())) },
		"matrix":      func(w io.Writer) error { return DocumentTerminal(w, Matrix(m, ""), TerminalOptions{Width: 120}) },
		"tuning page": func(w io.Writer) error { return DocumentHTML(w, TuningDocument(tuned)) },
		"tuning.md":   func(w io.Writer) error { return DocumentMarkdown(w, TuningDocument(tuned)) },
		"document":    func(w io.Writer) error { return DocumentHTML(w, doc) },
		"matrix.md":   func(w io.Writer) error { return DocumentMarkdown(w, Matrix(m, "")) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		text := b.String()
		if !strings.Contains(text, "pwned") {
			t.Errorf("%s: no hostile name is there; the test proves nothing", format)
		}
		bad := []string{"\x1b", "\u202e", "\u2028"}
		if !strings.Contains(format, "terminal") && format != "history" && format != "matrix" {
			bad = append(bad, "<img src=x", "<script>document", "</script><script>document")
		}
		for _, x := range bad {
			if i := strings.Index(text, x); i >= 0 {
				t.Errorf("%s: %q got through: …%.200q", format, x, text[max(0, i-100):])
			}
		}
	}
}
