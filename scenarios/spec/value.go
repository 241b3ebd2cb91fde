package spec

import "github.com/watchbench/watchbench/internal/units"

type (
	// Duration is a length of time, such as 45s.
	Duration = units.Duration
	// Size is a number of bytes, such as 3KiB.
	Size = units.Size
	// Share is a part of a whole, such as 80%.
	Share = units.Share
)
