// Package terminal formats what a program shows its user: widths, colours, a status line that nothing else tears, help
// that keeps to a width, an error on one line, and exit codes.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// InPlace reports whether the environment permits to draw over what was written: not on a dumb
// terminal, and not in CI, which keeps what was drawn over.
func InPlace(env func(string) string) bool {
	return env("TERM") != "dumb" && (env("CI") == "" || env("CI") == "false")
}

// Color reports whether colours are asked for: NO_COLOR, which is not empty, forbids them (no-color.org),
// CLICOLOR_FORCE asks for them everywhere, and else a terminal has them that is not dumb.
func Color(env func(string) string, tty bool) bool {
	switch {
	case env("NO_COLOR") != "":
		return false
	case env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0":
		return true
	}
	return tty && env("TERM") != "dumb" && env("CLICOLOR") != "0"
}

// Of returns what a file's terminal can do; columns are 0 if the file is not a terminal.
func Of(f *os.File) (color bool, columns int) {
	fd := int(f.Fd())
	tty := term.IsTerminal(fd)
	if tty {
		columns = widthOf(fd)
	}
	return Color(os.Getenv, tty), columns
}
