package behavior

import (
	"cmp"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// served is a request, as both stations have it.
type served struct {
	number  int
	arrived time.Duration
	took    time.Duration
	full    bool
}

// TestVirtualIsTheStation: in a bubble of synctest the server's own station takes as long with
// each request as the virtual one says.
func TestVirtualIsTheStation(t *testing.T) {
	const requests = 400
	for name, capacity := range map[string]Capacity{
		"unlimited":       {Queue: DefaultQueue},
		"places":          {InFlight: 7, Queue: DefaultQueue},
		"rate":            {Rate: 333, Queue: DefaultQueue},
		"rate and places": {Rate: 333, InFlight: 4, Queue: DefaultQueue},
		"short queue":     {InFlight: 3, Queue: 10},
		"rate, short":     {Rate: 100, Queue: 10},
	} {
		t.Run(name, func(t *testing.T) {
			const text = "uniform(10ms,30ms)"
			arrive := func(i int) time.Duration {
				return time.Duration(i)*1_700_123*time.Nanosecond + time.Duration(i/100)*time.Second
			}
			var want []served
			synctest.Test(t, func(t *testing.T) {
				s, began, done := NewStation(capacity), time.Now(), make(chan served, requests)
				m, err := ParseModel(text, 1)
				if err != nil {
					t.Fatal(err)
				}
				for i := range requests {
					go func() {
						time.Sleep(arrive(i))
						at := time.Now()
						if _, err := s.Enter(t.Context()); err != nil {
							done <- served{i, at.Sub(began), 0, true}
							return
						}
						time.Sleep(m.Sample("PUT", "Pod", "", time.Now()))
						s.Leave()
						done <- served{i, at.Sub(began), time.Since(at), false}
					}()
				}
				for range requests {
					want = append(want, <-done)
				}
			})
			slices.SortFunc(want, func(a, b served) int { return cmp.Compare(a.number, b.number) })
			m, err := ParseModel(text, 1)
			if err != nil {
				t.Fatal(err)
			}
			v := NewVirtual(m, []Rule[Capacity]{{Value: capacity}}, 0)
			waited, full := 0, 0
			for i := range requests {
				took, err := v.Serve("PUT", "Pod", "", arrive(i))
				got := served{i, arrive(i), took, err != nil}
				if d := got.took - want[i].took; d > time.Microsecond || d < -time.Microsecond || got.full != want[i].full {
					t.Fatalf("request %d: virtual %+v, real %+v", i, got, want[i])
				}
				if took > 30*time.Millisecond {
					waited++
				}
				if got.full {
					full++
				}
			}
			if (waited > 0) == (name == "unlimited") || (full > 0) != (capacity.Queue < 100) {
				t.Errorf("%d waited, %d were refused: the test shows little", waited, full)
			}
		})
	}
}

// TestVirtualRules: rules choose stations and distributions as the server's do, and the
// overhead is in service.
func TestVirtualRules(t *testing.T) {
	m, err := ParseModel("method=DELETE: 10ms; kind=Node: 1ms; 5ms", 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCapacities("kind=Pod: inflight=1")
	if err != nil {
		t.Fatal(err)
	}
	v := NewVirtual(m, c, time.Millisecond)
	for _, x := range []struct {
		method, kind string
		want         time.Duration
	}{
		{"PUT", "Pod", 6 * time.Millisecond},
		{"DELETE", "Pod", 17 * time.Millisecond},
		{"PUT", "Node", 2 * time.Millisecond},
		{"PUT", "Node", 2 * time.Millisecond},
	} {
		if got, err := v.Serve(x.method, x.kind, "", 0); got != x.want || err != nil {
			t.Errorf("%s %s: %s, %v, want %s", x.method, x.kind, got, err, x.want)
		}
	}
}
