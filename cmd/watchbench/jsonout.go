package main

import (
	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
)

const jsonFormat = "json"

func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", tableFormat, "what to print: table or json")
}

func knownFormat(format string) error {
	if format != tableFormat && format != jsonFormat {
		return badinput.New("use table or json", "--format %s is not known", format)
	}
	return nil
}

type clusterState struct {
	Schema     string `json:"schema"` // watchbench/cluster/v1
	Up         bool   `json:"up"`
	Provider   string `json:"provider"`
	Version    string `json:"version,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Error      string `json:"error,omitempty"`
}
