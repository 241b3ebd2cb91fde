package faults

import (
	"context"

	"github.com/watchbench/watchbench/scenarios/spec"
)

// reload has the watcher read an unchanged configuration again, which must disturb
// nothing.
func reload() family {
	return family{injectors: []Injector{kind{
		name: "reload", validate: needsOwnWatcher,
		inject: func(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
			_, err := c.Watcher().Reconfigure(ctx, func(*spec.Watcher) {})
			return Done{}, err
		},
	}}}
}
