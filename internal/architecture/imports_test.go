package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/watchbench/watchbench/"

type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string
}

// rule says what packages below From must not reach, directly or not.
type rule struct {
	from string
	deny []string
	why  string
}

// makers of a cell's record.
var makers = []string{"scenarios/runner", "scenarios/party", "scenarios/faults", "scenarios/campaign"}

// virtual are the packages of scenarios that may reach the watcher's code: simulate plays it in
// virtual time, and search screens settings with simulate. No figure of a run comes from either.
// Packages below them are not exempt.
var virtual = []string{"scenarios/simulate", "scenarios/search"}

var rules = []rule{
	{"watcher", []string{"loadgen", "storagemock", "scenarios", "reports", "dashboards"}, "the parts share internal leaves only"},
	{"loadgen", []string{"watcher", "storagemock", "scenarios", "reports", "dashboards"}, "the parts share internal leaves only"},
	{"storagemock", []string{"watcher", "loadgen", "scenarios", "reports", "dashboards"}, "the parts share internal leaves only"},
	{"scenarios", []string{"watcher"}, "scenarios starts the watcher as a process and judges it from outside"},
	{"scenarios/history", makers, "what judges a record does not know what made it"},
	{"scenarios/measure", makers, "what judges a record does not know what made it"},
	{"scenarios/check", makers, "what judges a record does not know what made it"},
	{"scenarios/matrix", makers, "what judges a record does not know what made it"},
	{"scenarios/faults", []string{"scenarios/runner"}, "a fault acts on a view of the cell"},
	{"reports", []string{"watcher", "loadgen", "storagemock", "scenarios", "dashboards"}, "reports reads results"},
	{"dashboards", []string{"watcher", "loadgen", "storagemock", "scenarios"}, "dashboards reads results and metrics"},
	{"watcher/storage", []string{"watcher/pipeline", "watcher/collector"}, "collector → pipeline → storage"},
	{"watcher/pipeline", []string{"watcher/collector"}, "collector → pipeline → storage"},
	{"internal", []string{"watcher", "loadgen", "storagemock", "scenarios", "reports", "dashboards"}, "internal are leaves"},
}

func TestImportRules(t *testing.T) {
	pkgs := list(t)
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages listed: the test would judge nothing", len(pkgs))
	}
	for _, p := range pkgs {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, r := range rules {
			if !below(path, r.from) || r.from == "scenarios" && slices.Contains(virtual, path) {
				continue
			}
			for _, dep := range p.Deps {
				d, ours := strings.CutPrefix(dep, module)
				if i := slices.IndexFunc(r.deny, func(x string) bool { return below(d, x) }); ours && i >= 0 {
					t.Errorf("%s reaches %s: %s", path, d, r.why)
				}
			}
		}
		if last := path[strings.LastIndex(path, "/")+1:]; slices.Contains([]string{"util", "common", "helpers", "types", "base"}, last) {
			t.Errorf("%s: a package is named after what it provides", path)
		}
		for _, imp := range p.Imports {
			if d, ours := strings.CutPrefix(imp, module); ours && below(d, "cmd") {
				t.Errorf("%s imports %s: nobody imports a main", path, d)
			}
		}
	}
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Imports,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}
