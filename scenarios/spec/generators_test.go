package spec

import (
	"errors"
	"testing"
)

// TestGenerators: how many may divide a load, and what refuses more than one.
func TestGenerators(t *testing.T) {
	const head = "apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: x}\n"
	const open = "load: {model: open, rate: 10, duration: 5s, "
	for _, tc := range []struct {
		name, text string
		want       int
		path       string // of the error
	}{
		{"by default", head + open + "nodes: 2}\n", 1, ""},
		{"one", head + open + "shards: 1}\n", 1, ""},
		{"the most", head + open + "shards: 16}\n", 16, ""},
		{"none", head + open + "shards: 0}\n", 0, "load.shards"},
		{"too many", head + open + "shards: 17}\n", 0, "load.shards"},
		{"a thread each", head + "load: {model: closed, threads: 4, operations: 10, shards: 4}\n", 4, ""},
		{"no thread for one", head + "load: {model: closed, threads: 3, operations: 10, shards: 4}\n", 0, "load.shards"},
		{"simulated", head + "cluster: {provider: simulated}\n" + open + "shards: 2}\n", 0, "load.shards"},
		{"one, simulated", head + "cluster: {provider: simulated}\n" + open + "shards: 1}\n", 1, ""},
		{"beside a trace", head + "cluster: {provider: simulated, replay: {trace: " + shippedTrace + "}}\nload: {shards: 2}\n", 0, "load.shards"},
		{"values of a matrix", head + open + "nodes: 2}\nmatrix: {load.shards: [1, 4]}\n", 1, ""},
		{"watchers by label", head + open + "labelShards: 2}\n", 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := Format{}.Parse("x.yaml", []byte(tc.text))
			if tc.path != "" {
				if bad := (*Error)(nil); !errors.As(err, &bad) || bad.Field != tc.path || bad.Remedy == "" {
					t.Fatalf("%v, want an error of %s", err, tc.path)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Cells()[0].Scenario.Load.Shards; got != tc.want {
				t.Errorf("%d generators, want %d", got, tc.want)
			}
		})
	}
}
