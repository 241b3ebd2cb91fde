package party

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
)

// splitCommand splits at spaces; single and double quotes keep words together.
func splitCommand(s string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// Command is a watcher's command line with its placeholders filled in. The program is
// looked up as a shell in the working directory would.
func (b Binaries) Command(text, config string) ([]string, error) {
	fill := strings.NewReplacer("{config}", config, "{bin}", filepath.Dir(b.Watcher))
	var argv []string
	for _, word := range splitCommand(text) {
		argv = append(argv, fill.Replace(word))
	}
	bad := &badinput.Error{What: fmt.Sprintf("the watcher's command %q", text), Remedy: "begin it with a program in PATH, or with the path of one"}
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
