package leader

import "time"

// instant is a moment by two clocks: that of the runtime, which stands still while the
// machine sleeps, and one that does not. Both go on while the process is stopped.
type instant struct {
	at   time.Time
	boot time.Duration
}

func now() instant { return instant{time.Now(), sinceBoot()} }

// since is how long ago that was by whichever clock went further.
func (i instant) since() time.Duration { return max(time.Since(i.at), sinceBoot()-i.boot) }
