package party

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/spec"
)

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
