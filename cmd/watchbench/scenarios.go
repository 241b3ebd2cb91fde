package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func parse(ref string, sets ...string) (name string, file *spec.File, err error) {
	name, data, err := scenarios.Read(ref)
	if err == nil {
		file, err = faults.Format.Parse(name, data, sets...)
	}
	return name, file, err
}

func scenariosCommand() *cobra.Command {
	cmd := parent("scenarios", "List, show and validate scenario files")
	var sets []string
	validate := &cobra.Command{
		Use: "validate SCENARIO...", Short: "Validate scenarios, by name or path, and list their cells",
		Args: needArgs(1, -1, "at least one scenario"),
		RunE: func(cmd *cobra.Command, args []string) error { return validateScenarios(cmd, args, sets) },
	}
	validate.Flags().StringArrayVar(&sets, "set", nil, setUsage)
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the shipped scenarios", Args: noArgs, RunE: listScenarios},
		&cobra.Command{
			Use: "show SCENARIO", Short: "Print a scenario file", Args: needArgs(1, 1, "one scenario"),
			RunE: func(cmd *cobra.Command, args []string) error {
				_, data, err := scenarios.Read(args[0])
				return write(cmd, data, err)
			},
		},
		validate,
		&cobra.Command{
			Use: "schema", Short: "Print the JSON schema of scenario files", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				schema, err := faults.Format.Schema()
				return write(cmd, schema, err)
			},
		},
	)
	return cmd
}

func write(cmd *cobra.Command, data []byte, err error) error {
	if err == nil {
		_, err = cmd.OutOrStdout().Write(data)
	}
	return err
}

func validateScenarios(cmd *cobra.Command, refs, sets []string) error {
	var wrong []error
	for _, ref := range refs {
		name, f, err := parse(ref, sets...)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, %s\n", name, extent(f, runner.Steps(f)))
		for _, c := range f.Cells() {
			fmt.Fprintln(cmd.OutOrStdout(), " ", c.ID)
		}
	}
	return errors.Join(wrong...)
}

func listScenarios(cmd *cobra.Command, _ []string) error {
	t := render.Table{Heads: []render.Head{{Title: "scenario", Words: true}, {Title: "points"},
		{Title: "description", Words: true}}}
	for _, n := range scenarios.All() {
		_, f, err := parse(n)
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, render.Cells(n, strconv.Itoa(len(f.Cells())), f.Base().Metadata.Description))
	}
	out := cmd.OutOrStdout()
	return render.TableTerminal(out, t, terminalOptions(out))
}
