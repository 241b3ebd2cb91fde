package terminal

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
)

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		err  error // of the command
		code int
		want string // on standard error
	}{
		{"good", []string{"--name", "a"}, nil, ExitOK, ""},
		{"failure in lines", []string{"--name", "a"}, errors.Join(errors.New("one"), errors.New("two")), ExitError, "cmd: one; two\n"},
		{"exit code of another", []string{"--name", "a"}, &Exit{Code: 7}, 7, ""},
		{"and why", []string{"--name", "a"}, &Exit{Code: 70, Err: errors.New("evicted")}, 70, "cmd: evicted\n"},
		{"bad file", []string{"--name", "a"}, badinput.Wrap(errors.New("not a plan")), ExitUsage, "cmd: not a plan\n"},
		{"interrupted bad file", []string{"--name", "a"}, &Interrupted{badinput.New("", "%d", 7)}, ExitInterrupted, "cmd: interrupted: 7\n"},
		{"unknown flag", []string{"--nome", "a"}, nil, ExitUsage, "cmd: unknown flag: --nome (did you mean --name?); see --help\n"},
		{"word for a number", []string{"--count", "x"}, nil, ExitUsage, "cmd: --count: \"x\" is not a whole number; see --help\n"},
		{"too large a number", []string{"--count", "99999999999999999999"}, nil, ExitUsage, "cmd: --count: 99999999999999999999 is out of range; see --help\n"},
		{"infinite time", []string{"--time", "inf"}, nil, ExitUsage, "cmd: --time: \"inf\" is not a duration such as 30s; see --help\n"},
		{"word for a time", []string{"--time", "5"}, nil, ExitUsage, "cmd: --time: \"5\" has no unit: did you mean 5s?; see --help\n"},
		{"argument", []string{"a"}, nil, ExitUsage, "cmd: unexpected argument \"a\"; everything is given by flags, see --help\n"},
	} {
		var out, errOut bytes.Buffer
		cmd := &cobra.Command{Use: "cmd --name NAME", RunE: func(*cobra.Command, []string) error { return tc.err }}
		cmd.Flags().String("name", "", "a name")
		cmd.Flags().Int("count", 0, "a number")
		cmd.Flags().Duration("time", 0, "a time")
		Setup(cmd, &out, &errOut)
		if code := Run(context.Background(), cmd, tc.args); code != tc.code || errOut.String() != tc.want || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q; want %d, %q", tc.name, code, errOut.String(), out.String(), tc.code, tc.want)
		}
	}
}

func TestWrap(t *testing.T) {
	words := strings.Repeat("word ", 40)
	cmd := &cobra.Command{Use: "cmd", Long: "One line.\n\n" + words + "\n\n  a  table\n  b", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().Bool("flag", false, words)
	var out bytes.Buffer
	Setup(cmd, &out, &out)
	if Run(t.Context(), cmd, []string{"--help"}) != ExitOK || !strings.Contains(out.String(), "One line.") || !strings.Contains(out.String(), "  a  table\n  b\n") {
		t.Error(out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimRight(line, " \n")) > HelpColumns {
			t.Errorf("too wide: %q", line)
		}
	}
}
