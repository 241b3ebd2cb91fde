package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/storage"
)

func TestPermanentParks(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Name == "bad" && e.ResourceVersion == 1 {
				return &storage.PermanentError{Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("bad", 1), put("good", 1))
		time.Sleep(time.Minute)
		if st := l.Stats(); st.Parked != 1 || st.Sent != 1 || !st.Balanced() || !l.Idle() {
			t.Fatalf("with the event parked: %+v", st)
		}
		if l.Pending(put("bad", 1).Key) || l.Pending(put("good", 1).Key) {
			t.Error("neither a parked object nor one that was sent is pending: a comparison may bring it back")
		}
		if !l.Refused(put("bad", 1).Key) || l.Refused(put("good", 1).Key) {
			t.Error("want the parked object refused, and no other")
		}
		if n := len(s.tries(func(e Event) bool { return e.Key.Name == "bad" })); n != 1 {
			t.Errorf("%d tries of a refused object", n)
		}
		l.enqueue(put("bad", 2))
		time.Sleep(time.Second)
		st := l.finish()
		if st.Parked != 0 || st.Coalesced != 1 || st.Sent != 2 {
			t.Errorf("after its next change: %+v", st)
		}
	})
}

// TestAllRefusedAlikeIsAnOutage: what nobody's body can be the reason of parks nobody, in
// no kind, not even those who were refused before that was known.
func TestAllRefusedAlikeIsAnOutage(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(Event) error {
			if time.Since(s.began) < 4*time.Second {
				return &storage.PermanentError{Status: 413, Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("node", 1).of("Node"), put("map", 1).of("ConfigMap"))
		time.Sleep(100 * time.Millisecond)
		const keys = 20
		for i := range keys {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if st := l.Stats(); st.Parked != 0 || st.Queued != keys+2 {
			t.Errorf("while everything is refused: %+v", st)
		}
		time.Sleep(time.Minute)
		if st := l.finish(); st.Parked != 0 || st.Sent != keys+2 || !st.Balanced() {
			t.Errorf("after the outage: %+v", st)
		}
	})
}

// TestRefusedBesideOthersIsPoison: many refused objects are no outage while others are
// taken, of whatever kind.
func TestRefusedBesideOthersIsPoison(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Kind == "Pod" {
				return &storage.PermanentError{Status: 413, Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		const keys = 20
		for i := range keys {
			l.enqueue(put(fmt.Sprint("pod-", i), 1), put(fmt.Sprint("map-", i), 1).of("ConfigMap"))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if n := len(s.tries(func(e Event) bool { return e.Key.Kind == "Pod" })); n != keys {
			t.Errorf("%d tries of %d refused objects", n, keys)
		}
		if st := l.finish(); st.Parked != keys || st.Sent != keys {
			t.Errorf("%+v", st)
		}
	})
}

// TestRefusalsApartAreNoOutage: objects refused long after one another are poison each; what
// was parked long before an outage stays so.
func TestRefusalsApartAreNoOutage(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(Event) error { return &storage.PermanentError{Status: 413, Err: errBroken} }
		l := start(t, c, s, nil)
		const apart = alike + 1
		for i := range apart {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
			time.Sleep(time.Duration(alikeWithin) + time.Second)
		}
		if st := l.Stats(); st.Parked != apart {
			t.Errorf("refused apart: %+v", st)
		}
		for i := range alike {
			l.enqueue(put(fmt.Sprint("map-", i), 1).of("ConfigMap"))
		}
		time.Sleep(time.Minute)
		if st := l.finish(); st.Parked != apart || st.Dropped != alike {
			t.Errorf("with an outage after it: %+v", st)
		}
	})
}

// TestSeveralPoisonKeysInAQuietCluster: objects that are refused together look like an
// outage until something else is taken. Then they are tried once more, not for ever.
func TestSeveralPoisonKeysInAQuietCluster(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Kind == "Pod" {
				return &storage.PermanentError{Status: 413, Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		const keys = 6
		for i := range keys {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		for i := range uint64(30) {
			time.Sleep(time.Minute)
			l.enqueue(put("map", i+1).of("ConfigMap"))
		}
		last := s.tries(func(e Event) bool { return e.Key.Kind == "Pod" })
		if at := last[len(last)-1].end; at > 3*time.Minute {
			t.Errorf("tried %d times, the last time after %s", len(last), at)
		}
		if st := l.finish(); st.Parked != keys {
			t.Errorf("%+v", st)
		}
	})
}

func TestPoisonKeyIsParkedAndHoldsNobodyUp(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(5 * time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Name == "poison" {
				return down(e)
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("poison", 1))
		var worst time.Duration
		for i := range 400 {
			l.enqueue(put(fmt.Sprint("pod-", i%50), uint64(i+1)))
			began := time.Now()
			for !l.onlyPoisonQueued() {
				time.Sleep(time.Millisecond)
			}
			worst = max(worst, time.Since(began))
			time.Sleep(100 * time.Millisecond)
		}
		if limit := 250 * time.Millisecond; worst > limit {
			t.Errorf("another key waited %s beside the poison key: limit %s", worst, limit)
		}
		tries := len(s.tries(func(e Event) bool { return e.Key.Name == "poison" }))
		st := l.finish()
		if st.Parked != 1 || tries != c.ParkAfter {
			t.Errorf("after %d tries: %+v", tries, st)
		}
	})
}

// TestPoisonKeyInAQuietKind has no other traffic to judge the poison key by, and still
// must not delay the first key that comes along.
func TestPoisonKeyInAQuietKind(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(5 * time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Name == "poison" {
				return down(e)
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("poison", 1))
		time.Sleep(10 * time.Minute)
		began := time.Now()
		l.enqueue(put("fresh", 1))
		for !l.onlyPoisonQueued() {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); took > 20*time.Millisecond {
			t.Errorf("a fresh key waited %s beside one that always fails", took)
		}
		l.finish()
	})
}

func (l *line) onlyPoisonQueued() bool { st := l.Stats(); return st.Queued+st.Parked <= 1 }

func TestStorageDownThenUp(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = down
		l := start(t, c, s, nil)
		const keys = 300
		for i := range keys {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		const outage = 60 * time.Second
		time.Sleep(outage)
		st := l.Stats()
		if st.Parked != 0 || st.Queued != keys {
			t.Fatalf("while storage is down: %+v", st)
		}
		lane := l.lane("Pod")
		lane.mu.Lock()
		if at, ok := lane.oldest(); !ok || time.Duration(at) > time.Millisecond {
			t.Errorf("oldest unsent change: %s %v, want the first", time.Duration(at), ok)
		}
		lane.mu.Unlock()
		// One try per worker until the gate shuts, then one per step, which Backoff
		// lets come at least every half delay.
		workers := max(2, shapeOf(c, "Pod").partitions*shapeOf(c, "Pod").workers)
		if c.Strategy == Adaptive {
			workers = firstLimit
		}
		steps := 6 + int(outage/(c.Backoff.Max/2))
		if tries := len(s.tries(nil)); tries > workers+steps {
			t.Errorf("%d tries in %s: want at most %d + %d", tries, outage, workers, steps)
		}
		s.setFault(up)
		restored := time.Now()
		for !l.Idle() {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(restored); took > c.Backoff.Max+c.Backoff.Max+5*time.Second {
			t.Errorf("recovery took %s", took)
		}
		if st := l.finish(); st.Sent != keys {
			t.Errorf("after the outage: %+v", st)
		}
	})
}

func TestRetryMergesWhatArrivesBehind(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = down
		l := start(t, c, s, nil)
		l.enqueue(put("a", 1))
		time.Sleep(20 * time.Millisecond)
		for v := uint64(2); v <= 10; v++ {
			l.enqueue(put("a", v))
		}
		s.setFault(up)
		time.Sleep(time.Minute)
		st := l.finish()
		if st.Sent != 1 || st.Coalesced != 9 || s.rows[put("a", 1).Key].version != 10 {
			t.Errorf("%+v, rows %v", st, s.rows)
		}
	})
}

func TestThrottlePausesStorage(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		const pause = 3 * time.Second
		s.fault = func(Event) error {
			if time.Since(s.began) < 500*time.Millisecond {
				return &storage.ThrottledError{RetryAfter: pause, Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		for i := range 200 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1), put(fmt.Sprint("node-", i), 1).of("Node"))
		}
		time.Sleep(time.Minute)
		for _, r := range s.tries(nil) {
			if r.start > 20*time.Millisecond && r.start < pause+10*time.Millisecond {
				t.Fatalf("%v was sent at %s, within the pause of %s", r.ev, r.start, pause)
			}
		}
		if st := l.finish(); st.Sent != 400 || st.Parked != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestThrottledPoisonKeyPausesOnlyItself(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Name == "poison" {
				return &storage.ThrottledError{RetryAfter: 2 * time.Second, Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("poison", 1))
		for i := range 300 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
			time.Sleep(100 * time.Millisecond)
		}
		var last time.Duration
		for i, r := range s.tries(func(e Event) bool { return e.Key.Name == "poison" }) {
			if i > 0 && r.start-last < 2*time.Second {
				t.Errorf("throttled key tried again after %s", r.start-last)
			}
			last = r.end
		}
		late := 0
		for _, r := range s.tries(func(e Event) bool { return e.Key.Name != "poison" }) {
			if r.end-r.ev.Received.Sub(s.began) > 100*time.Millisecond {
				late++
			}
		}
		if late > 21 { // the one pause of 2 s that the first throttle is worth
			t.Errorf("%d of 300 other keys were late", late)
		}
		l.finish()
	})
}

func TestUnknownOutcomeIsFenced(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		var lateAt time.Duration
		s.fault = func(e Event) error {
			if e.ResourceVersion == 1 && lateAt == 0 {
				lateAt = time.Since(s.began) + 3*time.Second
				time.AfterFunc(3*time.Second, func() { // storage applies what the client gave up
					s.mu.Lock()
					defer s.mu.Unlock()
					s.apply(e)
				})
				return &storage.UnknownOutcomeError{Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("a", 1))
		time.Sleep(100 * time.Millisecond)
		l.enqueue(del("a", 2), put("a", 3).as("v"))
		time.Sleep(time.Minute)
		st := l.finish()
		if got := s.rows[put("a", 1).Key]; got != (row{"v", 3}) {
			t.Errorf("ends as %v", got)
		}
		for _, r := range s.tries(nil)[1:] {
			if r.start < c.FenceDelay {
				t.Errorf("%v was sent at %s, inside the fence of %s", r.ev, r.start, c.FenceDelay)
			}
		}
		if !st.Balanced() {
			t.Errorf("%+v", st)
		}
	})
}

// TestEndAtOnce: nothing is drained, what is in flight is cancelled, and how long that may
// still be applied is known.
func TestEndAtOnce(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(3 * time.Second)
		p, err := New(c, Settings{Sender: s})
		if err != nil {
			t.Fatal(err)
		}
		l := &line{Pipeline: p, store: s, t: t, done: make(chan error, 1)}
		ctx, end := context.WithCancelCause(t.Context())
		l.stop = func() { end(lifecycle.AtOnce(errBroken)) }
		go func() { l.done <- p.Run(ctx) }()
		l.enqueue(widgets(200, 1)...)
		time.Sleep(time.Second)
		if p.Settling() != 0 {
			t.Error("every request is still waited for")
		}
		ended := time.Since(s.began)
		if st := l.finish(); st.Sent != 0 || st.Dropped != 200 {
			t.Errorf("%+v", st)
		}
		for _, r := range s.requests {
			if r.start > ended || r.end != ended {
				t.Errorf("a request from %s to %s, the end was at %s", r.start, r.end, ended)
			}
		}
		if d := p.Settling(); d != c.FenceDelay {
			t.Errorf("what was in flight may be applied for %s, want %s", d, c.FenceDelay)
		}
	})
}
