// Package scenarios holds the scenarios that come with the program.
package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/spec"
)

//go:embed *.yaml examples/*.yaml controllers/*.yaml faults/*.yaml regression/*.yaml
var files embed.FS

// Names lists the shipped scenarios that are not of the fault matrix.
func Names() []string { return namesIn("") }

// ExampleNames lists those that answer a question of practice, to be copied.
func ExampleNames() []string { return namesIn("examples/") }

// ControllerNames lists those on a cluster with controllers.
func ControllerNames() []string { return namesIn("controllers/") }

// FaultNames lists those of the fault matrix, RegressionNames those of bugs that were found.
func FaultNames() []string { return namesIn("faults/") }

// RegressionNames lists the scenarios of bugs that were found.
func RegressionNames() []string { return namesIn("regression/") }

// All lists the names of all shipped scenarios.
func All() []string {
	return slices.Concat(Names(), ExampleNames(), ControllerNames(), FaultNames(), RegressionNames())
}

func namesIn(dir string) []string {
	entries, err := fs.Glob(files, dir+"*.yaml")
	if err != nil {
		panic(err) // the patterns above are constant
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = dir + strings.TrimSuffix(path.Base(e), ".yaml")
	}
	sort.Strings(names)
	return names
}

// renamed are the shipped scenarios of earlier versions that have another name now.
var renamed = map[string]string{"examples/knee": "examples/rate"}

// Read finds a scenario: a path to a file, or the name of a shipped one. What has a separator or a .yaml ending is a
// path. It returns the name to print with errors.
func Read(ref string) (string, []byte, error) {
	if data, err := files.ReadFile(ref + ".yaml"); err == nil && strings.Contains(ref, "/") {
		return "scenarios/" + ref + ".yaml", data, nil
	}
	ending := strings.HasSuffix(ref, ".yaml") || strings.HasSuffix(ref, ".yml")
	if !ending && !strings.ContainsRune(ref, filepath.Separator) {
		data, err := files.ReadFile(ref + ".yaml")
		if err != nil {
			remedy := "use one of " + strings.Join(Names(), ", ") + ", or the path of a .yaml file"
			return "", nil, &spec.Error{Place: "scenario " + ref, Problem: "no scenario of that name is shipped",
				Remedy: badinput.Ask(badinput.NearestPath(ref, All()), remedy)}
		}
		return "scenarios/" + ref + ".yaml", data, nil
	}
	info, err := os.Stat(ref)
	switch {
	case renamed[ref] != "":
		return "", nil, &spec.Error{Place: "scenario " + ref, Problem: "no scenario of that name is shipped",
			Remedy: "it is " + renamed[ref] + " now"}
	case errors.Is(err, fs.ErrNotExist):
		remedy := "give a path, or the name of a shipped scenario: " + strings.Join(Names(), ", ")
		return "", nil, &spec.Error{Place: ref, Problem: "no such file",
			Remedy: badinput.Ask(badinput.NearestPath(ref, All()), remedy)}
	case err != nil:
		return "", nil, fmt.Errorf("open the scenario: %w", err)
	case info.IsDir():
		return "", nil, &spec.Error{Place: ref, Problem: "is a folder", Remedy: "name one .yaml file in it"}
	case info.Size() > spec.MaxBytes:
		return "", nil, &spec.Error{Place: ref, Problem: fmt.Sprintf("the file has %d bytes", info.Size()),
			Remedy: fmt.Sprintf("a scenario has at most %d", spec.MaxBytes)}
	}
	data, err := os.ReadFile(ref)
	if err != nil {
		return "", nil, fmt.Errorf("read the scenario: %w", err)
	}
	return ref, data, nil
}
