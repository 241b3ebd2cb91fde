package plan

import (
	"fmt"
	"os"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

// format of a plan file; a real one has less than 2 KiB and 50 values.
var format = strictyaml.Format{
	Noun: "plan", Start: "runID and model",
	MaxBytes: 1 << 20, MaxDepth: 16, MaxNodes: 20_000,
	QuotedText: true, Retired: Retired,
}

// Retired are fields of former versions, with what to write instead, by their paths in a plan.
var Retired = map[string]string{
	"cron": "write steps, or profile: batch-jobs, which has Jobs on the dot",
	"ramp": retiredArrival, "burst": retiredArrival, "mmpp": retiredArrival, "diurnal": retiredArrival,
	"trace": retiredArrival,
}

const retiredArrival = "write steps, such as [{length: 30s, from: 10, rate: 50}, {length: 3s, rate: 200}]"

// ReadFile decodes and validates the plan file at path.
func ReadFile(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the plan: %w", err)
	}
	return Parse(path, data)
}

// Parse decodes YAML over the defaults and validates it. An error is a *strictyaml.Error.
func Parse(name string, data []byte) (Config, error) {
	tree, err := format.Parse(name, data)
	if err != nil {
		return Config{}, err
	}
	cfg := Default()
	decoded, err := tree.Decode(tree.Root, &cfg)
	if err != nil {
		return Config{}, err
	}
	if err := cfg.Validate(); err != nil {
		return Config{}, decoded.Locate(err)
	}
	return cfg, nil
}
