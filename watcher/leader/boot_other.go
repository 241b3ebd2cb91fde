//go:build !linux

package leader

import "time"

// sinceBoot: the runtime's clock has to do.
func sinceBoot() time.Duration { return 0 }
