package party

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Binaries are the programs a run starts.
type Binaries struct {
	Watcher, Storage string
	// Bench is watchbench itself, whose hidden commands are the other parties.
	Bench string
	// K6 is needed by scenarios with load.driver: k6 only, and built apart.
	K6 string
}

// FindBinaries looks beside the running executable.
func FindBinaries() (Binaries, error) {
	self, err := os.Executable()
	if err != nil {
		return Binaries{}, fmt.Errorf("find the running executable: %w", err)
	}
	if target, err := filepath.EvalSymlinks(self); err == nil {
		self = target
	}
	return BinariesIn(filepath.Dir(self))
}

// BinariesIn looks in one folder.
func BinariesIn(dir string) (Binaries, error) {
	b := Binaries{
		Watcher: filepath.Join(dir, "k8s-watch"), Storage: filepath.Join(dir, "storagemock"),
		Bench: filepath.Join(dir, "watchbench"),
		K6:    filepath.Join(dir, "k6"),
	}
	for _, path := range []string{b.Watcher, b.Storage, b.Bench} {
		if !executable(path) {
			return Binaries{}, &badinput.Error{What: path + " is not there or cannot be executed",
				Remedy: "run make build, which puts all programs into one folder"}
		}
	}
	return b, nil
}

// CheckK6 reports that k6 has not been built.
func (b Binaries) CheckK6() error {
	if executable(b.K6) {
		return nil
	}
	return &badinput.Error{What: "load.driver: k6 needs " + b.K6 + ", which is not there or cannot be executed",
		Remedy: "run make k6"}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// Command is a watcher's command line, filled in; the program is looked up as a shell would.
func (b Binaries) Command(w spec.Watcher, config string) ([]string, error) {
	if w.Command == spec.OpenCommand {
		return nil, badinput.New("add --watcher-command 'PROGRAM -f {config}'",
			"a point of the scenario has no watcher command yet")
	}
	fill := strings.NewReplacer("{config}", config, "{bin}", filepath.Dir(b.Watcher))
	var argv []string
	for _, word := range w.Words() {
		argv = append(argv, fill.Replace(word))
	}
	bad := &badinput.Error{What: fmt.Sprintf("the watcher's command %q", w.Command),
		Remedy: "begin it with a program in PATH, or with the path of one"}
	if len(argv) == 0 {
		bad.What += " names no program"
		return nil, bad
	}
	program, err := exec.LookPath(argv[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		bad.Err = err
		return nil, bad
	}
	argv[0] = program
	return argv, nil
}
