package main

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
)

const jsonFormat = "json"

// formatFlag adds --format table|json: with json, standard output is one document.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", tableFormat, "what to print: table or json")
	offer(cmd, "format", tableFormat, jsonFormat)
}

func knownFormat(format string) error {
	if format != tableFormat && format != jsonFormat {
		return badinput.New("use table or json", "--format %s is not known", format)
	}
	return nil
}

type listed struct {
	Schema    string           `json:"schema"` // watchbench/scenarios/v1
	Scenarios []listedScenario `json:"scenarios"`
}

type listedScenario struct {
	Name        string `json:"name"`
	Points      int    `json:"points"`
	Description string `json:"description"`
}

type clusterState struct {
	Schema     string `json:"schema"` // watchbench/cluster/v1
	Up         bool   `json:"up"`
	Provider   string `json:"provider"`
	Version    string `json:"version,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Error      string `json:"error,omitempty"`
}

// checked is what check prints as JSON: what the record gives, and where a file says otherwise.
type checked struct {
	Schema  string          `json:"schema"` // watchbench/check/v1
	Results json.RawMessage `json:"results,omitempty"`
	Matrix  *result.Matrix  `json:"matrix,omitempty"`
	Folders []checkedFolder `json:"folders"`
}

type checkedFolder struct {
	Dir         string   `json:"dir"`
	Written     bool     `json:"written"` // its file was missing
	Differences []string `json:"differences"`
}

// checkedDocument is the document of a folder and, of a matrix, those of its runs.
func checkedDocument(c *assess.Checked) (*checked, error) {
	d := checked{Schema: "watchbench/check/v1", Matrix: c.Matrix}
	if c.Results != nil {
		var b bytes.Buffer
		if err := result.Encode(&b, c.Results); err != nil {
			return nil, err
		}
		d.Results = b.Bytes()
	}
	for _, one := range append([]*assess.Checked{c}, c.Runs...) {
		d.Folders = append(d.Folders, checkedFolder{one.Dir, one.Missing, append([]string{}, one.Differences...)})
	}
	return &d, nil
}
