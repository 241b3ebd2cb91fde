package collector

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// retry is client-go's backoff between two tries of a reflector: 0.8 s, doubled up to
// 30 s, each with up to as much again by chance.
var retry = wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2, Jitter: 1}

// calm is how long list and watch must have gone on to count as healthy though no event came; client-go's figure.
const calm = 2 * time.Minute

// attempt describes one list and the watch after it.
type attempt struct {
	lasted time.Duration // the whole of it
	list   time.Duration // until the list was complete, if it ever was
	events bool          // whether the list was complete and the watch delivered a change after it
}

// pause is how long a kind waits before it lists again. The wait doubles while attempts fail, as client-go's does.
// After one that brought the list and a change it is 2.4 to 3.6 s: client-go would double it for watches that merely
// end early.
type pause struct {
	initial, current wait.Backoff
}

func newPause(b wait.Backoff) *pause { return &pause{initial: b, current: b} }

// after returns the wait that follows a. It is at least as long as the list took, so
// that no kind spends more than half of the time on lists.
func (p *pause) after(a attempt) time.Duration {
	if a.events || a.lasted >= calm {
		p.current = p.initial
	}
	next := wait.Jitter(3*p.initial.Duration, 0.5)
	if !a.events || a.lasted >= calm {
		next = p.current.Step()
	}
	return max(next, min(a.list, p.initial.Cap))
}
