package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/scenarios/faults"
)

// fieldSchema is the part of a JSON schema that names fields and their values.
type fieldSchema struct {
	Ref        string                 `json:"$ref"`
	Properties map[string]fieldSchema `json:"properties"`
	Enum       []any                  `json:"enum"`
	Defs       map[string]fieldSchema `json:"$defs"`
}

// fields lists path= for each field below s, or path=value where the values are known.
func (s fieldSchema) fields(defs map[string]fieldSchema, path string) (all []string) {
	if s.Ref != "" {
		s = defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	for name, below := range s.Properties {
		all = append(all, below.fields(defs, path+name+".")...)
	}
	path = strings.TrimSuffix(path, ".")
	for _, v := range s.Enum {
		all = append(all, fmt.Sprintf("%s=%v", path, v))
	}
	if len(s.Properties) == 0 && len(s.Enum) == 0 {
		all = append(all, path+"=")
	}
	return all
}

// overrides offers the fields of a scenario for --set.
func overrides(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	data, err := faults.Format.Schema()
	var s fieldSchema
	if err != nil || json.Unmarshal(data, &s) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all := s.fields(s.Defs, "")
	slices.Sort(all)
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
