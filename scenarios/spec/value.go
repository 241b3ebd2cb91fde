package spec

import "github.com/watchbench/watchbench/internal/units"

// Values of a scenario that carry a unit.
type (
	Duration = units.Duration
	Size     = units.Size
	Share    = units.Share
)
