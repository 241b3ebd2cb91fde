package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/search"
)

// TestFragmentsAreReadBack: what k8s-watch would refuse, ignore or take as another value is
// not handed out, nor a key that the original does not have.
func TestFragmentsAreReadBack(t *testing.T) {
	for _, c := range []struct{ file, text, problem string }{
		{search.FileOurs, `{"bcs": {"strategy": "keyed", "podQueueNum": 12, "writerQueueLen": 10240, "handlerQueueLen": 131072, "queueFull": "coalesce"}}`, ""},
		{search.FileOurs, `{"bcs": {"strategy": "adaptive", "writerQueueLen": 10240, "handlerQueueLen": 512, "queueFull": "coalesce"}}`, ""},
		{search.FileOurs, `{"bcs": {"strategy": "keyed", "podQueueNum": 12, "writerQueueLen": 10240, "handlerQueueLen": 32768, "queueFull": "block"}}`, ""},
		{search.FileOurs, `{"bcs": {"strategy": "keyed", "podQueueNum": 12, "handlerQueueLen": 512, "queueFull": "block"}}`,
			"blocks the watch of Events"},
		{search.FileOriginal, `{"bcs": {"podQueueNum": 30, "writerQueueLen": 10240}}`, ""},
		{search.FileOriginal, `{"bcs": {"podQueueNum": 0, "writerQueueLen": 10240}}`, ""},
		{search.FileOurs, `{"bcs": {"writerQueueLen": 512}}`, "would be taken as 10240"},
		{search.FileOurs, `{"bcs": {"podQueueNum": 12, "strategy": "fast"}}`, "would not start k8s-watch"},
		{search.FileOurs, `{"bcs": {"podQueueNum": 12, "strategy": "single"}}`, "without effect"},
		{search.FileOurs, `{"bcs": {"podQueueNums": 12}}`, "without effect"},
		{search.FileOriginal, `{"bcs": {"podQueueNum": 12, "handlerQueueLen": 512}}`, "has no bcs.handlerQueueLen"},
		{search.FileOurs, `{"bcs"`, "k8s-watch.json"},
	} {
		err := checkFragment(&result.TuningFragment{File: c.file, Text: c.text})
		if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.problem)
		}
	}
}

// TestReportOfTune: the folder of a search has its report, and check knows nothing of it.
func TestReportOfTune(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, result.TuningFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code, err := invoke(t, "report", dir)
	if err != nil {
		stderr += err.Error()
	}
	if code != exitInput || !strings.Contains(stderr, "report.md") || strings.Contains(stderr, "watchbench check") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
