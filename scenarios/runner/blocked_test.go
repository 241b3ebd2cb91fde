package runner

import (
	"testing"
	"time"
)

// stuck is a terminal that takes nothing, as after Ctrl-S.
type stuck struct {
	Screen
	entered, release chan struct{}
}

func (s *stuck) Columns() int { return 0 }
func (s *stuck) Live() bool   { return true }
func (s *stuck) Status(string, bool) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.release
}

// The sampler's record must not wait for whoever reads the progress.
func TestProgressDoesNotHoldUpSampler(t *testing.T) {
	s := &stuck{entered: make(chan struct{}, 1), release: make(chan struct{})}
	defer close(s.release)
	p := NewProgress(s)
	p.jobs, p.expected, p.current, p.phaseNow = []job{{id: "a"}}, []time.Duration{time.Second}, 0, PhaseLoad
	one := 1.0
	for _, busy := range []bool{false, true} {
		if busy {
			go p.wrote(1)
			<-s.entered
		}
		done := make(chan struct{})
		go func() { p.sampled(&one, &one); close(done) }()
		select {
		case <-done:
		case <-time.After(2 * time.Second):
			t.Fatalf("a sample waits for the terminal (drawing already: %v)", busy)
		}
	}
}
