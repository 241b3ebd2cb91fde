package gate

import (
	"errors"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

func TestDefaultRules(t *testing.T) {
	r := Defaults()
	if len(r.Metrics) < 8 || r.Blocks != 6 || r.Alpha != 0.05 || len(r.Invariants) != 8 {
		t.Errorf("%+v", r)
	}
	again, err := parse("rules.yaml", DefaultsFile(), Defaults())
	if err != nil || len(again.Metrics) != len(r.Metrics) {
		t.Errorf("the defaults over themselves: %v, %v", again, err)
	}
}

func TestRulesChangeOnlyWhatTheyWrite(t *testing.T) {
	r, err := parse("r.yaml", []byte("blocks: 10\nmetrics:\n  watcher.cpuMicrosPerEvent: {allow: 5%}\n  freshness.p50: {skip: true}\n  watcher.rssPeakMiB: {kind: noisy, allow: 10%, detect: 30%}\n"), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	cpu, was := r.Metrics["watcher.cpuMicrosPerEvent"], Defaults().Metrics["watcher.cpuMicrosPerEvent"]
	if was.Allow = 0.05; cpu != was {
		t.Errorf("got %+v, want %+v", cpu, was)
	}
	if _, there := r.Metrics["freshness.p50"]; there || r.Blocks != 10 || r.Repeats != 6 || len(r.Metrics) != len(Defaults().Metrics) {
		t.Errorf("%+v", r)
	}
}

func TestBadRules(t *testing.T) {
	for text, want := range map[string]string{
		"":                                         "r.yaml: the file is empty; a rules file starts with metrics:",
		"block: 3":                                 "r.yaml:1: block: unknown field; did you mean blocks?",
		"blocks: 2":                                "r.yaml:1: blocks: 2 blocks give no interval; use 3 to 1000",
		"repeats: 1":                               "r.yaml:1: repeats: 1 repetitions give no interval",
		"alpha: 0.05":                              `r.yaml:1: alpha: "0.05" is not a share; write 0% to 100%`,
		"alpha: 0%":                                "r.yaml:1: alpha: 0% is out of range",
		"invalidCells: 90%":                        "r.yaml:1: invalidCells: 90%: most cells could be invalid",
		"lag: 0s":                                  "r.yaml:1: lag: 0s is not a limit",
		"invariants: [G1, G15]":                    `r.yaml:1: invariants[1]: "G15" is not an invariant; use G1 to G14, errors or lag`,
		"mayDiffer: [kernel]":                      `r.yaml:1: mayDiffer[0]: "kernel" is not below environment or scenario`,
		"metrics: {watcher.cpu: {}}":               "r.yaml:1: metrics.watcher.cpu: watcher.cpu: unknown metric",
		"metrics: {storage.qps: {kind: paired}}":   `r.yaml:1: metrics.storage.qps.kind: "paired" is not a kind; write exact or noisy`,
		"metrics: {storage.qps: {}}":               `r.yaml:1: metrics.storage.qps.kind: "" is not a kind; write exact or noisy`,
		"metrics: {load.qps / x: {}}":              "r.yaml:1: metrics.load.qps / x: x: unknown metric",
		"metrics: {freshness.p50: {allow: 0%}}":    "r.yaml:1: metrics.freshness.p50.allow: 0%: no interval can be within it",
		"metrics: {freshness.p50: {allow: 60%}}":   "metrics.freshness.p50.detect: 50% is not more than the 60% that is allowed",
		"metrics: {load.qps: {kind: noisy}}":       "neither more nor less of it is better; divide it by the work, as in load.qps / load.done",
		"metrics: {freshness.p50: {better: less}}": "r.yaml:1: metrics.freshness.p50.better: unknown field; leave it out, the metric says",
		"metrics: {storage.qps: {kind: exact, allow: 100%}}": "100% allows anything",
		"metrics: {storage.qps: {kind: exact, detect: 10%}}": "an exact metric has no noise",
		"metrics: {freshness.p50: {else: x}}":                "metrics.freshness.p50.else: x: unknown metric",
	} {
		_, err := parse("r.yaml", []byte(text), Defaults())
		var at *strictyaml.Error
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
	all := "metrics:\n"
	for name := range Defaults().Metrics {
		all += "  " + name + ": {skip: true}\n"
	}
	if _, err := parse("r.yaml", []byte(all), Defaults()); err == nil || !strings.Contains(err.Error(), "no metric is left to judge") {
		t.Errorf("all skipped: %v", err)
	}
}

// FuzzRules checks that no input panics, that an error is one line, and that rules that are accepted are valid.
func FuzzRules(f *testing.F) {
	f.Add(string(defaults))
	f.Add("metrics: {a / b: {else: c}}\nmayDiffer: [scenario.x]")
	f.Add("invariants: [G1]\nalpha: 5%\nblocks: 3")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse("r.yaml", []byte(text), Defaults())
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("error on several lines: %q", err)
			}
			return
		}
		if err := r.Validate(); err != nil || len(r.Metrics) == 0 {
			t.Errorf("accepted and not valid: %v", err)
		}
	})
}
