package render

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"github.com/watchbench/watchbench/reports/result"
)

// golden compares with a committed file; -update writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "fixture", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./reports/render -update rewrites it) (-want +got):\n%s", path, diff)
	}
}

// TestGolden: one terminal and one Markdown are looked at; of every format two renderings are the same.
func TestGolden(t *testing.T) {
	writers := map[string]func(io.Writer, *result.Results) error{
		"terminal.txt": func(w io.Writer, res *result.Results) error { return Terminal(w, res, TerminalOptions{Width: 120}) },
	}
	for _, f := range Formats() {
		writers[f.File] = f.Write
	}
	for name, write := range writers {
		var first, second bytes.Buffer
		for _, b := range []*bytes.Buffer{&first, &second} {
			if err := write(b, fixture(t)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two renderings of one record differ", name)
		}
		if name == "terminal.txt" || name == "report.md" {
			golden(t, name, first.Bytes())
		}
	}
}

// benchstat's own reader must understand bench.txt, and find in it only speeds that may be compared.
func TestBenchIsReadByBenchfmt(t *testing.T) {
	var buf bytes.Buffer
	if err := Bench(&buf, fixture(t)); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&buf, "bench.txt")
	units, lines := map[string]map[string]float64{}, 0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			name := rec.Name.String()
			lines++
			units[name] = map[string]float64{}
			for _, v := range rec.Values {
				units[name][v.Unit] = v.Value
			}
			if got := rec.GetConfig("scenario"); got != "strategies" {
				t.Errorf("%s: scenario is %q", name, got)
			}
		case *benchfmt.SyntaxError:
			t.Errorf("syntax error: %v", rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if len(units) != 9 || lines != 24 {
		t.Errorf("%d benchmarks in %d lines, want 9 in 24: one line per valid repetition", len(units), lines)
	}
	const prefix = "Scenario/load=heavy/strategy="
	for _, tt := range []struct {
		name, unit string
		want       bool
	}{
		{"keyed-2", "drain-sec", true},
		{"keyed-2", "freshness-p99-sec", true},
		{"single-2", "drain-sec", false},         // projected
		{"single-2", "freshness-p99-sec", false}, // cut short
		{"single-2", "storage-requests/sec", true},
		{"single-2", "lost-objects", false}, // not known
		{"unordered-2", "drain-sec", false}, // failed a check
		{"unordered-2", "storage-requests/sec", false},
		{"unordered-2", "reordered-writes", true},
	} {
		if _, ok := units[prefix+tt.name][tt.unit]; ok != tt.want {
			t.Errorf("%s has %s: %v, want %v", tt.name, tt.unit, ok, tt.want)
		}
	}
	if got := units[prefix+"keyed-2"]["watcher-rss-B"]; got < 1<<20 {
		t.Errorf("memory is %v, want bytes", got)
	}
	for unit, want := range map[string]int{"drain-sec": -1, "storage-requests/sec": 1, "watcher-cores": 0} {
		if got := r.Units().GetBetter(unit); got != want {
			t.Errorf("better(%s) = %d, want %d", unit, got, want)
		}
	}
}

func TestCSVIsReadable(t *testing.T) {
	for name, res := range map[string]*result.Results{"fixture": fixture(t), "hostile": hostileRecord(t)} {
		var buf bytes.Buffer
		if err := CSV(&buf, res); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&buf).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != 1+len(res.Cells) {
			t.Errorf("%s: %d lines, want a heading and %d cells", name, len(lines), len(res.Cells))
		}
		for _, line := range lines {
			for _, field := range line {
				if field == "" || !strings.ContainsRune("=+-@", rune(field[0])) {
					continue
				}
				if _, err := strconv.ParseFloat(field, 64); err != nil {
					t.Errorf("%s: a spreadsheet takes %q for a formula", name, field)
				}
			}
		}
	}
}

func TestJUnitCounts(t *testing.T) {
	var buf bytes.Buffer
	if err := JUnit(&buf, hostileRecord(t)); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	tests, failures := 0, 0
	for _, s := range got.Suites {
		for _, c := range s.Cases {
			tests++
			if c.Failure != nil {
				failures++
			}
		}
	}
	// What is invalid fails all the same where it is found guilty: G4 once, and the hostile check everywhere.
	if len(got.Suites) != 28 || tests != got.Tests || failures != got.Failures || failures != 3*2+1+28 || got.Errors != 4 {
		t.Errorf("%d suites, %d tests (says %d), %d failures (says %d), %d errors", len(got.Suites), tests, got.Tests, failures, got.Failures, got.Errors)
	}
}

// Text formats carry hostile names as text.
func TestTextFormatsAreSafe(t *testing.T) {
	for _, f := range []struct {
		name  string
		write func(io.Writer, *result.Results) error
	}{
		{"terminal", func(w io.Writer, r *result.Results) error { return Terminal(w, r, TerminalOptions{Color: true}) }},
		{"md", Markdown}, {"bench", Bench}, {"csv", CSV}, {"junit", JUnit}, {"html", func(w io.Writer, r *result.Results) error { return writePage(w, Run(r), nil) }},
	} {
		var buf bytes.Buffer
		if err := f.write(&buf, hostileRecord(t)); err != nil {
			t.Fatal(err)
		}
		out := buf.String()
		if strings.ContainsAny(out, "\u2028\u202e") || f.name != "terminal" && strings.Contains(out, "\x1b") {
			t.Errorf("%s: control characters came through", f.name)
		}
		if f.name == "md" && strings.Contains(out, "<script>") {
			t.Errorf("%s: an element came through", f.name)
		}
		if f.name == "bench" {
			r := benchfmt.NewReader(strings.NewReader(out), "bench.txt")
			for r.Scan() {
				if rec, ok := r.Result().(*benchfmt.SyntaxError); ok {
					t.Errorf("bench: %v", rec)
				}
			}
		}
	}
}

// TestJUnitNamesAreUnique: over the points of every axis and over repetitions.
func TestJUnitNamesAreUnique(t *testing.T) {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "sizing"}}
	for _, queues := range []string{"10", "30", "60"} {
		for rep := range 2 {
			c := drained(3)
			c.ID, c.Repetition = fmt.Sprintf("partitioned-%s-r%d", queues, rep+1), rep+1
			c.Params = map[string]string{result.ParamStrategy: "partitioned", result.ParamLoad: "l", "watcher.podQueueNum": queues}
			res.Cells = append(res.Cells, c)
		}
	}
	var buf bytes.Buffer
	if err := JUnit(&buf, res); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range got.Suites {
		for _, c := range s.Cases {
			if seen[c.Name] {
				t.Errorf("%q is there twice", c.Name)
			}
			seen[c.Name] = true
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d names, want 12: two cases in each of six cells", len(seen))
	}
}
