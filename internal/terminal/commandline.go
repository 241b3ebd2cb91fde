package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/version"
)

// Exit codes, the same for all commands.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// Setup gives cmd its streams, its version, and the errors of a command that takes flags only.
func Setup(cmd *cobra.Command, stdout, stderr io.Writer) {
	cmd.Version = version.Version
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if cmd.Args == nil {
		cmd.Args = noArguments
	}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &badinput.Error{Err: badinput.ExplainFlag(cmd.Flags(), err), Remedy: "see --help"}
	})
	Wrap(cmd)
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badinput.New("everything is given by flags, see --help", "unexpected argument %q", args[0])
	}
	return nil
}

// Interrupted is the error of a command that a signal ended early.
type Interrupted struct{ Err error }

func (e *Interrupted) Error() string { return "interrupted: " + e.Err.Error() }
func (e *Interrupted) Unwrap() error { return e.Err }

// Exit is the error of a command whose exit code is that of something else. Without Err nothing is written.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string { return fmt.Sprintf("exit code %d: %v", e.Code, e.Err) }
func (e *Exit) Unwrap() error { return e.Err }

// Run executes cmd and returns its exit code. An error is written as one line to the command's standard error.
func Run(ctx context.Context, cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	exit, _ := errors.AsType[*Exit](err)
	if exit != nil && exit.Err == nil {
		return exit.Code
	} else if exit != nil {
		err = exit.Err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.Name(), strings.ReplaceAll(err.Error(), "\n", "; "))
	if exit != nil {
		return exit.Code
	}
	if _, ok := errors.AsType[*Interrupted](err); ok {
		return ExitInterrupted
	}
	if badinput.Is(err) {
		return ExitUsage
	}
	return ExitError
}
