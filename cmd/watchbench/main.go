// Command watchbench measures and judges the path from a Kubernetes watch to a storage service. See watchbench help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/scenarios/runner"
)

const (
	exitOK          = terminal.ExitOK
	exitError       = terminal.ExitError
	exitInput       = terminal.ExitUsage
	exitCheck       = 3
	exitRegression  = 4
	exitInvalid     = 5
	exitInterrupted = terminal.ExitInterrupted
)

// exitCodes is the same table for users; make bench quotes its lines.
const exitCodes = `Exit codes:
  0    ok
  1    error
  2    usage or bad input
  3    a correctness check or a threshold failed, or an objective was not met
  4    regression: gate FAIL
  5    nothing valid to judge: run invalid, gate INVALID or INCONCLUSIVE
  130  interrupted`

const (
	noPins   = "leave it out, or start watchbench with taskset"
	keptKind = "make the cluster with kind create cluster, and use --context kind-NAME"
)

// retiredFlags say what to write instead, by command.
var retiredFlags = map[string]string{
	"run kind-reuse": keptKind, "run kind-keep": keptKind, "up provider": keptKind, "status provider": keptKind,
	"down provider": keptKind,
	"run pin":       noPins, "matrix pin": noPins, "reference pin": noPins, "tune pin": noPins,
	"check format":       "leave it out: the folder's results.json or matrix.json has it",
	"list format":        "leave it out: watchbench scenarios show NAME prints a scenario",
	"rules schema":       "leave it out: watchbench gate rules explains each field",
	"run profile":        "leave it out: k8s-watch with debug_mode serves profiles below /debug/pprof/",
	"run fail-fast":      "leave it out, and choose fewer points with --set",
	"tune trace":         "name a scenario, or --rate and --storage",
	"tune limit":         "use --queues 1..N and --strategies",
	"tune lengths":       "leave it out: the lengths follow from what waits in virtual time",
	"tune resume":        "leave it out, and set --budget",
	"tune resolution":    "leave it out: rates are 5% apart",
	"simulate against":   "compare the same scenario's simulate and run; tune prints prediction beside measurement",
	"simulate tolerance": "leave it out", "simulate wake": "use --overhead", "simulate api-latency": "leave it out",
}

const environment = `Environment:
  WATCHBENCH_CACHE    folder of the control plane's binaries
  KUBEBUILDER_ASSETS  folder with etcd and kube-apiserver to use instead
  KUBECONFIG          kubeconfig of commands that take one
  NO_COLOR            no colors
  CI                  progress as lines`

// verdict is an outcome with an exit code of its own that is not a failure of the program.
type verdict struct {
	code int
	text string
}

func (v *verdict) Error() string { return v.text }

func main() {
	if len(os.Args) > 1 && parties[os.Args[1]] != nil {
		os.Exit(runParty(parties[os.Args[1]], os.Args[2:], streams{os.Stdin, os.Stdout, os.Stderr}))
	}
	// All output passes through it, so that nothing garbles its status line.
	stderr := terminal.Stderr(os.Stderr)
	ctx := interruptible(stderr)
	root := command()
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	stderr.Clear()
	code := exitCode(ctx, err)
	if err != nil && code != exitInterrupted {
		fmt.Fprintln(stderr, "watchbench:", err)
	}
	if code == exitInterrupted {
		fmt.Fprintln(stderr, "watchbench: interrupted")
	}
	os.Exit(code)
}

func exitCode(ctx context.Context, err error) int {
	var v *verdict
	switch {
	case err != nil && ctx.Err() != nil:
		return exitInterrupted
	case err == nil:
		return exitOK
	case errors.As(err, &v):
		return v.code
	case runner.IsInput(err):
		return exitInput
	}
	return exitError
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "watchbench",
		Short:         "Measure and judge the path from a Kubernetes watch to a storage service",
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          subcommand,

		SuggestionsMinimumDistance: 2,

		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: "Measure and judge the path from a Kubernetes watch to a storage service.\n\n" + exitCodes + "\n\n" +
			environment,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if instead := retiredFlags[cmd.Name()+" "+unknown.GetSpecifiedName()]; instead != "" {
				return badinput.New(instead, "%v", err)
			}
		}
		return badinput.New("see "+cmd.CommandPath()+" --help", "%v", badinput.ExplainFlag(cmd.Flags(), err))
	})
	group(root, "Measure:", runCommand(), dashboardCommand(), reportCommand(), checkCommand(), scenariosCommand())
	group(root, "Which settings?", tuneCommand(), simulateCommand())
	reference := referenceCommand()
	reference.Hidden = true // the published tables: docs/published.md
	group(root, "Did it get worse?", compareCommand(), gateCommand(), reference)
	group(root, "What if something fails?", matrixCommand())
	group(root, "Other clusters, watchers, loads:", clusterCommand(), recordCommand(), replayCommand())
	root.AddCommand(kneeCommand(),
		&cobra.Command{
			Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes,
		}, &cobra.Command{
			Use: "version", Short: "Print the version", Args: noArgs,
			Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "watchbench", version.Version) },
		})
	terminal.Wrap(root)
	return root
}

// group lists commands under a title of the help; README.md has the same ones.
func group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}

func parent(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: subcommand, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// subcommand refuses an argument, which is a misspelt subcommand.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if all := cmd.SuggestionsFor(args[0]); len(all) > 0 {
		near = all[0]
	}
	return badinput.New(badinput.Ask(near, "see "+cmd.CommandPath()+" --help"), "unknown command %q",
		strings.Join(append(strings.Fields(cmd.CommandPath())[1:], args[0]), " "))
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badinput.New("", "%s takes no argument, %q was given", cmd.CommandPath(), args[0])
	}
	return nil
}

// needArgs requires between least and most arguments; most < 0 is unbounded.
func needArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || (most >= 0 && len(args) > most) {
			return badinput.New("see "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}
