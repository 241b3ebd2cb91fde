package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const thisModule = "github.com/watchbench/watchbench/"

type goPackage struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string
}

// importRule says what packages below From must not reach, directly or not.
type importRule struct {
	from string
	deny []string
	why  string
}

// recordMakers of a cell's record.
var recordMakers = []string{"scenarios/runner", "scenarios/party", "scenarios/faults"}

// virtualPlay are the packages of scenarios that may reach the watcher's code: simulate plays it in virtual time, and
// search screens settings with simulate. No figure of a run comes from either. Packages below them are not exempt.
var virtualPlay = []string{"scenarios/simulate", "scenarios/search"}

var importRules = []importRule{
	{"watcher", []string{"loadgen", "storagemock", "scenarios", "reports", "dashboards"}, "the parts share internal leaves only"},
	{"loadgen", []string{"watcher", "storagemock", "scenarios", "reports", "dashboards"}, "the parts share internal leaves only"},
	{"storagemock", []string{"watcher", "loadgen", "scenarios", "reports", "dashboards"}, "the parts share internal leaves only"},
	{"scenarios", []string{"watcher"}, "scenarios starts the watcher as a process and judges it from outside"},
	{"scenarios/history", recordMakers, "what judges a record does not know what made it"},
	{"scenarios/measure", recordMakers, "what judges a record does not know what made it"},
	{"scenarios/check", recordMakers, "what judges a record does not know what made it"},
	{"scenarios/matrix", recordMakers, "what judges a record does not know what made it"},
	{"scenarios/faults", []string{"scenarios/runner"}, "a fault acts on a view of the cell"},
	{"reports", []string{"watcher", "loadgen", "storagemock", "scenarios", "dashboards"}, "reports reads results"},
	{"dashboards", []string{"watcher", "loadgen", "storagemock", "scenarios"}, "dashboards reads results and metrics"},
	{"watcher/storage", []string{"watcher/pipeline", "watcher/collector"}, "collector → pipeline → storage"},
	{"watcher/pipeline", []string{"watcher/collector"}, "collector → pipeline → storage"},
	{"internal", []string{"watcher", "loadgen", "storagemock", "scenarios", "reports", "dashboards"}, "internal are leaves"},
}

func TestImportRules(t *testing.T) {
	pkgs := packages(t)
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages listed: the test would judge nothing", len(pkgs))
	}
	for _, p := range pkgs {
		path := strings.TrimPrefix(p.ImportPath, thisModule)
		for _, r := range importRules {
			if !within(path, r.from) || r.from == "scenarios" && slices.Contains(virtualPlay, path) {
				continue
			}
			for _, dep := range p.Deps {
				d, ours := strings.CutPrefix(dep, thisModule)
				if i := slices.IndexFunc(r.deny, func(x string) bool { return within(d, x) }); ours && i >= 0 {
					t.Errorf("%s reaches %s: %s", path, d, r.why)
				}
			}
		}
		if last := path[strings.LastIndex(path, "/")+1:]; slices.Contains([]string{"util", "common", "helpers", "types", "base"}, last) {
			t.Errorf("%s: a package is named after what it provides", path)
		}
		for _, imp := range p.Imports {
			if d, ours := strings.CutPrefix(imp, thisModule); ours && within(d, "cmd") {
				t.Errorf("%s imports %s: nobody imports a main", path, d)
			}
		}
	}
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func packages(t *testing.T) []goPackage {
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
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}
