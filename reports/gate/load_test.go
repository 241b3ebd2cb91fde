package gate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, dir string, res *result.Results) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
		t.Fatal(err)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	write(t, at("empty", "results.json"), "")
	write(t, at("text", "results.json"), "go test")
	write(t, at("other", "results.json"), `{"schema": "watchbench/results/v9", "cells": 7}`)
	write(t, at("none", "results.json"), `{"run": {}}`)
	write(t, at("matrix", "matrix.json"), `{}`)
	write(t, at("record", "run.json"), `{}`)
	write(t, at("runs", "run-1", "results.json"), `{}`)
	write(t, at("runs", "run-2", "results.json"), `{}`)
	write(t, at("bare", "notes.txt"), "")
	if err := os.MkdirAll(at("folder", "results.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	save(t, at("hollow"), &result.Results{Schema: result.Schema, Run: result.Run{ID: "hollow"}})
	for _, tt := range []struct {
		path string
		no   bool // it is not a run
		want string
	}{
		{"nosuch", true, "nosuch: no such file or folder; name a run's folder or its results.json"},
		{"matrxi", true, "did you mean " + at("matrix") + "?"},
		{"empty", false, "results.json: the file is empty; watchbench check " + at("empty") + " writes it anew"},
		{"empty/results.json", false, "the file is empty"},
		{"text", false, "results.json: line 1, column 1: invalid character 'g'"},
		{"other", false, `schema is "watchbench/results/v9", not watchbench/results/v1: another format`},
		{"none", false, `field "schema" is missing`},
		{"matrix", true, "the folder has no results.json"},
		{"matrix/matrix.json", true, "it is not a run's results"},
		{"record", false, "watchbench check " + at("record") + " writes it from the record"},
		{"runs", true, "there are 2 in it"},
		{"bare", true, "the folder has no results.json; name a run's folder"},
		{"bare/notes.txt", false, "the file is empty"},
		{"folder", true, "it is not a run's results"},
		{"hollow", false, "the run has no cells"},
		{"empty/results.json/x", false, "not a directory"},
	} {
		res, err := Load(at(tt.path))
		switch {
		case err == nil:
			t.Errorf("%s: accepted: %+v", tt.path, res.Run)
		case !badinput.Is(err):
			t.Errorf("%s: no bad input: %v", tt.path, err)
		case errors.As(err, new(NotRun)) != tt.no:
			t.Errorf("%s: %v, not a run: %v", tt.path, err, tt.no)
		case !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run-1")
	save(t, dir, run(cell("light-keyed-r1", "load=light")))
	for _, path := range []string{dir, filepath.Join(dir, result.FileName), filepath.Dir(dir)} {
		res, err := Load(path)
		if err != nil || len(res.Cells) != 1 {
			t.Errorf("%s: %v, %v", path, res, err)
		}
	}
}
