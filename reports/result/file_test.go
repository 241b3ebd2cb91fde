package result

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// sample is a small record that uses every kind of field.
func sample() *Results {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &Results{
		Schema:      Schema,
		Run:         Run{ID: "r1", Scenario: "smoke", Started: at, Finished: at.Add(time.Minute), Seed: 7, Order: []string{"a", "b"}},
		Environment: Environment{GoVersion: "go1.26.0", Provider: "embedded", CPUs: 2, LoadBefore: []float64{0.5, 0.25, 0.125}},
		Scenario:    map[string]any{"metadata": map[string]any{"name": "smoke"}},
		Cells: []Cell{
			{
				ID: "a", Params: map[string]string{ParamLoad: "light"}, Repetition: 1, Valid: true,
				Checks:    map[string]Check{"G1": {Verdict: Pass, Judged: 10}},
				Parties:   map[string]Party{"watcher": {CPUSeconds: new(1.5), RSSPeakMiB: 40}},
				Freshness: &Quantiles{Count: 10, P50: 0.1, P90: 0.2, P99: 0.3, Max: 0.4},
				Series:    map[string]Series{SeriesQueueDepth: {Unit: "events", T: []float64{0, 1, 2}, V: []float64{0, 5.5, 0}}},
			},
			{
				ID: "b", Params: map[string]string{ParamLoad: "[\n 1, 2 ]"}, Repetition: 1,
				InvalidReasons: []string{"generator lag"}, Cut: true, CutFraction: 0.25,
				Handler: Handler{DrainSeconds: ptr(180.0), DrainProjected: true},
				Checks:  map[string]Check{"G1": {Verdict: NotJudged}}, Parties: map[string]Party{},
			},
		},
	}
}

func TestSaveAndLoadGiveTheSameRecord(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	want := sample()
	want.Decide() // a file of before contests gets them as it is read
	if err := Save(path, want); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{path, dir} {
		got, err := LoadFile(from)
		if err != nil {
			t.Fatalf("LoadFile(%s): %v", from, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("LoadFile(%s) (-want +got):\n%s", from, diff)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("folder holds %v (%v), want the record alone", left, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("[0,5.5,0]")) {
		t.Errorf("a curve takes more than one line:\n%s", data)
	}
}

func TestEncodeFillsRequiredCollections(t *testing.T) {
	res := &Results{Schema: Schema, Run: Run{ID: "r"}, Cells: []Cell{{ID: "a", Valid: true}}}
	var buf bytes.Buffer
	if err := Encode(&buf, res); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(buf.String(), "null") {
		t.Errorf("null in\n%s", buf.String())
	}
	if res.Cells[0].Checks != nil {
		t.Error("Encode changed the caller's record")
	}
}

func TestValidateNamesThePlace(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Results)
		want   string
	}{
		{"schema", func(r *Results) { r.Schema = "x" }, `schema is "x"`},
		{"run id", func(r *Results) { r.Run.ID = "" }, "run.id is empty"},
		{"cell id", func(r *Results) { r.Cells[1].ID = "" }, "cells[1].id is empty"},
		{"same id twice", func(r *Results) { r.Cells[1].ID = "a" }, `cells[1].id "a" is taken by cells[0]`},
		{"valid with a reason", func(r *Results) { r.Cells[0].InvalidReasons = []string{"lag"} }, "cells[0] is valid and gives a reason"},
		{"invalid without one", func(r *Results) { r.Cells[1].InvalidReasons = nil }, "cells[1] is invalid without a reason"},
		{"fraction", func(r *Results) { r.Cells[1].CutFraction = 25 }, "cells[1].cutFraction is 25"},
		{"projected without a cut", func(r *Results) { r.Cells[1].Cut = false }, "drainProjected is set on a cell that was not cut"},
		{"cut, not projected", func(r *Results) { r.Cells[1].Handler.DrainProjected = false }, "must be marked drainProjected"},
		{"verdict", func(r *Results) { r.Cells[0].Checks["G1"] = Check{Verdict: "ok"} }, `cells[0].checks.G1.verdict is "ok"`},
		{"pass without power", func(r *Results) {
			r.Cells[0].Checks["G2"] = Check{Verdict: Pass, Judged: 9, Power: new(int64(12)), MinPower: 30}
		}, "checks.G2 passes with power 12 of at least 30"},
		{"no power without a figure", func(r *Results) { r.Cells[0].Checks["G2"] = Check{Verdict: NoPower, Judged: 9} }, "checks.G2 is no-power without a power below its minPower"},
		{"vacuous pass", func(r *Results) { r.Cells[0].Checks["G1"] = Check{Verdict: Pass} }, "passes with judged 0"},
		{"unpaired curve", func(r *Results) { r.Cells[0].Series["x"] = Series{T: []float64{1}} }, "has 1 times and 0 values"},
		{"time goes back", func(r *Results) {
			r.Cells[0].Series["x"] = Series{T: []float64{1, 0}, V: []float64{1, 1}}
		}, `series["x"].t[1] is 0 after 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := sample()
			tt.change(res)
			err := res.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate: %v, want %q", err, tt.want)
			}
			if err := Save(filepath.Join(t.TempDir(), FileName), res); err == nil {
				t.Error("Save accepted it")
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	var buf bytes.Buffer
	if err := Encode(&buf, sample()); err != nil {
		t.Fatal(err)
	}
	good := buf.String()
	tests := []struct {
		name, text, want string
		schema           bool
	}{
		{name: "empty", text: "", want: "unexpected end of JSON input"},
		{name: "HTML", text: "<html>", want: "line 1, column 1: invalid character '<'"},
		{name: "no schema", text: `{"run":{}}`, want: `field "schema" is missing`, schema: true},
		{name: "other schema", text: `{"schema":"watchbench/results/v2","new":1}`, want: `schema is "watchbench/results/v2"`, schema: true},
		{name: "trailing data", text: good + "{}", want: "after top-level value"},
		{name: "wrong type", text: strings.Replace(good, `"seed": 7`, `"seed": "7"`, 1), want: "line 8, column"},
		{name: "too large a number", text: strings.Replace(good, `"cpus": 2`, `"cpus": 1e999`, 1), want: "1e999"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tt.text), "x.json")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "x.json: ") {
				t.Fatalf("Decode: %v, want x.json: … %q", err, tt.want)
			}
			if got := errors.Is(err, ErrSchema); got != tt.schema {
				t.Errorf("errors.Is(err, ErrSchema) = %v, want %v", got, tt.schema)
			}
		})
	}
}

func TestLoadFileNamesAMissingFile(t *testing.T) {
	dir := t.TempDir()
	_, err := LoadFile(dir)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), FileName) {
		t.Errorf("LoadFile(empty folder): %v, want one that names %s", err, FileName)
	}
}

// FuzzDecode looks for input that crashes the reader, or that it accepts and the writer then refuses or changes.
func FuzzDecode(f *testing.F) {
	var buf bytes.Buffer
	if err := Encode(&buf, sample()); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add([]byte(`{"schema":"watchbench/results/v1","run":{"id":"r"},"cells":[{"id":"a","valid":true}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := Decode(bytes.NewReader(data), "fuzz")
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := Encode(&first, res); err != nil {
			t.Fatalf("Encode refuses what Decode accepted: %v", err)
		}
		again, err := Decode(bytes.NewReader(first.Bytes()), "again")
		if err != nil {
			t.Fatalf("Decode(Encode(x)): %v", err)
		}
		if err := Encode(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("second writing differs (%v)", err)
		}
	})
}

// TestEarlierTraffic: the file of an earlier version, which had figures of the traffic, is read.
func TestEarlierTraffic(t *testing.T) {
	dir := t.TempDir()
	if err := Save(filepath.Join(dir, FileName), sample()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	const earlier = `"traffic": {"profile": "rollout", "kinds": {"Pod": {"added": 3}}}, "id": "a"`
	if _, err := Decode(strings.NewReader(strings.Replace(string(data), `"id": "a"`, earlier, 1)), FileName); err != nil {
		t.Fatal(err)
	}
}
