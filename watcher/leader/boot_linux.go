package leader

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot counts the time that the machine was suspended.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
