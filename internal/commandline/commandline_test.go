package commandline

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/spf13/cobra"
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
		{"bad file", []string{"--name", "a"}, &UsageError{errors.New("not a plan")}, ExitUsage, "cmd: not a plan\n"},
		{"interrupted bad file", []string{"--name", "a"}, &Interrupted{Usagef("%d", 7)}, ExitInterrupted, "cmd: interrupted: 7\n"},
		{"missing flag", nil, nil, ExitUsage, "cmd: --name is missing, see --help\n"},
		{"unknown flag", []string{"--nome", "a"}, nil, ExitUsage, "cmd: unknown flag: --nome, see --help\n"},
		{"argument", []string{"a"}, nil, ExitUsage, "cmd: unexpected argument \"a\": everything is given by flags, see --help\n"},
	} {
		var out, errOut bytes.Buffer
		name := ""
		cmd := &cobra.Command{Use: "cmd --name NAME", RunE: func(*cobra.Command, []string) error {
			if err := Require(Flag{"name", name}); err != nil {
				return err
			}
			return tc.err
		}}
		cmd.Flags().StringVar(&name, "name", "", "a name")
		Setup(cmd, &out, &errOut)
		if code := Run(context.Background(), cmd, tc.args); code != tc.code || errOut.String() != tc.want || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q; want %d, %q", tc.name, code, errOut.String(), out.String(), tc.code, tc.want)
		}
	}
}
