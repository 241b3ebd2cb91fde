package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/scenarios/pod"
)

func podCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "pod FILE",
		Short: "Run a party as a Pod, and stand in for it here",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := pod.Read(args[0])
			if err != nil {
				return err
			}
			code, err := (&pod.Standin{Spec: spec, In: s.in, Out: s.out, Err: s.err}).Run(cmd.Context())
			if lost, is := errors.AsType[*pod.LostError](err); is {
				return &terminal.Exit{Code: pod.ExitLost, Err: lost}
			}
			if err == nil && code != 0 {
				return &terminal.Exit{Code: code}
			}
			return err
		},
	}
}

func agentCommand(streams) *cobra.Command {
	var install string
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Start a party in a Pod and serve its stand-in",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if install != "" {
				return copySelf(install)
			}
			return (&pod.Agent{}).Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&install, "install", "", "copy this program to a path, and end")
	return cmd
}

func copySelf(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err == nil {
		_, err = io.Copy(out, from)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	return nil
}
