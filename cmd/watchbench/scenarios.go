package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func scenariosCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenarios", Short: "List, show and validate scenario files", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var sets []string
	validate := &cobra.Command{
		Use: "validate SCENARIO...", Short: "Validate scenarios, by name or path, and list their cells",
		Args: needArgs(1, -1, "at least one scenario"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, ref := range args {
				name, data, err := scenarios.Read(ref)
				if err != nil {
					return err
				}
				f, err := spec.Parse(name, data, sets...)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, %d cells, repeat %d\n", name, len(f.Cells()), f.Base().Repeat)
				for _, c := range f.Cells() {
					fmt.Fprintln(cmd.OutOrStdout(), " ", c.ID)
				}
			}
			return nil
		},
	}
	validate.Flags().StringArrayVar(&sets, "set", nil, setUsage)
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the shipped scenarios", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				for _, n := range slices.Concat(scenarios.Names(), scenarios.FaultNames(), scenarios.RegressionNames()) {
					name, data, err := scenarios.Read(n)
					if err != nil {
						return err
					}
					f, err := spec.Parse(name, data)
					if err != nil {
						return err
					}
					fmt.Fprintf(tw, "%s\t%d cells\t%s\n", n, len(f.Cells()), f.Base().Metadata.Description)
				}
				return tw.Flush()
			},
		},
		&cobra.Command{
			Use: "show SCENARIO", Short: "Print a scenario file", Args: needArgs(1, 1, "one scenario"),
			RunE: func(cmd *cobra.Command, args []string) error {
				_, data, err := scenarios.Read(args[0])
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(data)
				return err
			},
		},
		validate,
		&cobra.Command{
			Use: "schema", Short: "Print the JSON schema of scenario files", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := cmd.OutOrStdout().Write(scenarios.SchemaJSON)
				return err
			},
		},
	)
	return cmd
}
