package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/search"
	"github.com/watchbench/watchbench/scenarios/spec"
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

// TestTuneRefuses: bad input is one error, with exit code 2, and leaves nothing behind.
func TestTuneRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "the load is missing"},
		{[]string{"--rate", "200"}, "--rate 200 is not a rate"},
		{[]string{"--rate", "200/s"}, "--storage is missing"},
		{[]string{"--rate", "200/s", "--storage", "soon"}, "--storage soon"},
		{[]string{"--rate", "200/s", "--storage", "60ms", "--profile", "x"}, "--profile x is not known"},
		{[]string{"--rate", "3/s", "--storage", "60ms", "--profile", "service-churn"}, "by the clock alone"},
		{[]string{"--rate", "200/s", "--storage", "60ms", "--objective", "drain=5s"}, "the load alone lasts 20s"},
		{[]string{"--rate", "200/s", "--storage", "60ms", "--objective", "rate=100/s"}, "is not the rate of --objective"},
		{[]string{"--rate", "200/s", "--storage", "60ms", "--set", "load.rate=0"}, "load.rate"},
		{[]string{"--rate", "200/s", "--storage", "60ms", "--resume", "nosuch"}, "--resume nosuch"},
		{[]string{"--rate", "200/s", "--storage", "60ms", "--objective", "drain=30s", "--objective", "freshness.p99=2s"},
			"there is drain=30s already"},
		{[]string{"smoke"}, "closed loop"},
		{[]string{"strategies-published"}, "--set matrix.load="},
		{[]string{"smoke", "--rate", "1/s"}, "without a scenario"},
		{[]string{"--trace", "nosuch.zst", "--storage", "60ms"}, "nosuch.zst"},
		{[]string{"--trace", "x", "--rate", "1/s"}, "--trace is the load"},
		{[]string{"replay-burst", "--strategies", "unordered"}, "is not one"},
		{[]string{"replay-burst", "--repeat", "0"}, "--repeat 0"},
		{[]string{"replay-burst", "--watcher-command", "mine {config}"},
			"--watcher-command means nothing with --find settings"},
	} {
		_, stderr, code, err := invoke(t, append([]string{"tune"}, c.args...)...)
		if err != nil {
			stderr += err.Error()
		}
		if code != exitInput || !strings.Contains(stderr, c.want) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("%v: exit code %d\n%s", c.args, code, stderr)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
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

// TestRepeatIsTheSearchs: --repeat of tune is no override of the scenario, so that a search
// with another one may use the measurements of the first again.
func TestRepeatIsTheSearchs(t *testing.T) {
	for _, c := range []struct {
		apart []string
		want  int
	}{{nil, 5}, {[]string{"repeat"}, 1}} {
		f := runFlags{apart: c.apart}
		cmd := &cobra.Command{}
		f.ours(cmd)
		cmd.Flags().IntVar(&f.repeat, "repeat", 3, "")
		if err := cmd.ParseFlags([]string{"--repeat", "5"}); err != nil {
			t.Fatal(err)
		}
		file, err := f.parse(cmd, source{"replay-burst", func(sets ...string) (*spec.File, error) {
			_, file, err := parse("replay-burst", sets...)
			return file, err
		}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := file.Base().Repeat; got != c.want {
			t.Errorf("apart %v: repeated %d times, want %d", c.apart, got, c.want)
		}
	}
}
