package model

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within*math.Abs(want) {
		t.Errorf("%s: %g, want %g within %g%%", what, got, want, 100*within)
	}
}

func refused(t *testing.T, what string, err error, want Reason) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != want || r.Detail == "" {
		t.Errorf("%s: %v, want a refusal: %s", what, err, want)
	}
}

func TestLittle(t *testing.T) {
	near(t, "serial", Rate(1, 90*time.Millisecond), 11.111, 1e-4)
	near(t, "30 in flight", Rate(30, 90*time.Millisecond), 333.33, 1e-4)
}

// TestWait: M/M/1 and M/M/2 have closed forms, M/D/1 waits half as long as M/M/1.
func TestWait(t *testing.T) {
	second := time.Second
	for _, v := range []struct {
		name   string
		q      Queue
		length float64
	}{
		{"M/M/1 at 80%", Queue{Rate: 0.8, Latency: second, Deviation: second, Servers: 1, Burstiness: 1}, 0.64 / 0.2},
		{"M/D/1 at 80%", Queue{Rate: 0.8, Latency: second, Servers: 1, Burstiness: 1}, 0.64 / 0.2 / 2},
		{"M/G/1 at 80%", Queue{Rate: 0.8, Latency: second, Deviation: second / 2, Servers: 1, Burstiness: 1}, 0.64 / 0.2 * (1 + 0.25) / 2},
		{"D/D/1", Queue{Rate: 0.8, Latency: second, Servers: 1}, 0},
		{"M/M/2 at 75%", Queue{Rate: 1.5, Latency: second, Deviation: second, Servers: 2, Burstiness: 1}, 2 * .75 * .75 * .75 / (1 - .75*.75)},
	} {
		w, err := v.q.Wait()
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		near(t, v.name, w.Length, v.length, 1e-9)
		near(t, v.name+" utilisation", w.Utilisation, v.q.Rate/float64(v.q.Servers), 1e-9)
	}
	_, err := Queue{Rate: 1, Latency: second, Servers: 1}.Wait()
	refused(t, "full", err, Overloaded)
	_, err = Queue{Rate: 1, Latency: second}.Wait()
	refused(t, "no servers", err, OutOfDomain)
	if busy := erlangC(9_999, 10_000); !(busy > 0.9 && busy < 1) {
		t.Errorf("10000 servers: %g", busy)
	}
}

// The vectors are the contract's (§2.5).
func TestPartition(t *testing.T) {
	for _, v := range []struct {
		key  Key
		want map[int]int
	}{
		{Key{"team-a", "web-abc-1"}, map[int]int{1: 0, 3: 2, 10: 9, 30: 29, 120: 119}},
		{Key{"default", "nginx-0"}, map[int]int{1: 0, 3: 0, 10: 9, 30: 9, 120: 99}},
	} {
		for n, want := range v.want {
			if got := Partition(v.key, n); got != want {
				t.Errorf("%v of %d queues: %d, want %d", v.key, n, got, want)
			}
			if got := Partition(Key{Name: v.key.Namespace + "/" + v.key.Name}, n); got != want {
				t.Errorf("name %v of %d queues: %d, want %d", v.key, n, got, want)
			}
		}
	}
}

// TestPartitionArithmetic holds the wrapping arithmetic against numbers of any size.
func TestPartitionArithmetic(t *testing.T) {
	wrap, mask := new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(0x7FFFFFFF)
	for i := range 200 {
		k := Key{fmt.Sprintf("namespace-%d", i%7), fmt.Sprintf("web-%x-%d", i*i, i)}
		h := new(big.Int)
		for _, b := range []byte(k.Namespace + "/" + k.Name) {
			h.Mod(h.Add(h.Mul(h, big.NewInt(131)), big.NewInt(int64(b))), wrap)
		}
		h.And(h, mask)
		if want := int(h.Mod(h, big.NewInt(30)).Int64()); Partition(k, 30) != want {
			t.Errorf("%v: %d, want %d", k, Partition(k, 30), want)
		}
	}
}

func TestSkew(t *testing.T) {
	keys := map[Key]int64{{"team-a", "web-abc-1"}: 6, {"default", "nginx-0"}: 2}
	for n, want := range map[int]float64{10: 1, 3: 0.75} { // both in queue 9 of 10; of 3 queues in two
		s, err := SkewOf(keys, n)
		if err != nil || float64(s) != want {
			t.Errorf("%d queues: %g, %v; want %g", n, s, err, want)
		}
		near(t, "limit", s.Limit(100*time.Millisecond), 10/want, 1e-9)
	}
	_, err := SkewOf(keys, 0)
	refused(t, "no queues", err, OutOfDomain)
	_, err = SkewOf(nil, 3)
	refused(t, "no events", err, TooFew)
}

// arrivals come at times, in the queues of the same place.
func arrivals(times []time.Duration, queues ...int) iter.Seq2[time.Duration, int] {
	return func(yield func(time.Duration, int) bool) {
		for i, at := range times {
			queue := 0
			if i < len(queues) {
				queue = queues[i]
			}
			if !yield(at, queue) {
				return
			}
		}
	}
}

func TestAbsorb(t *testing.T) {
	const second = time.Second
	for _, v := range []struct {
		name   string
		times  []time.Duration
		in     []int
		queues int
		want   Backlog
	}{
		// 4 at once; 2 are left after a second, 2 more come; 4 take two seconds.
		{"two bursts", []time.Duration{0, 0, 0, 0, second, second}, nil, 1, Backlog{Events: 6, Peak: 4, Longest: 4, Drained: 3 * second}},
		{"idle time does not count for later", []time.Duration{0, 10 * second}, nil, 1, Backlog{Events: 2, Peak: 1, Longest: 1, Drained: 10500 * time.Millisecond}},
		// The first queue has 3 for 1.5 s, the second 1, and another 2 after a second: 1 + 2 then.
		{"two queues", []time.Duration{0, 0, 0, 0, second, second}, []int{0, 0, 0, 1, 1, 1}, 2, Backlog{Events: 6, Peak: 4, Longest: 3, Drained: 2 * second}},
		{"an idle queue does not help another", []time.Duration{0, 0, 0, 0}, []int{1, 1, 1, 1}, 2, Backlog{Events: 4, Peak: 4, Longest: 4, Drained: 2 * second}},
		{"the other queue drains last", []time.Duration{0, 0, 0, second}, []int{0, 0, 0, 1}, 2, Backlog{Events: 4, Peak: 3, Longest: 3, Drained: 1500 * time.Millisecond}},
		{"none", nil, nil, 1, Backlog{}},
	} {
		b, err := Absorb(arrivals(v.times, v.in...), v.queues, 2)
		if err != nil || b != v.want {
			t.Errorf("%s: %+v, %v; want %+v", v.name, b, err, v.want)
		}
	}
	for name, refuses := range map[string]func() (Backlog, error){
		"unordered":       func() (Backlog, error) { return Absorb(arrivals([]time.Duration{second, 0}), 1, 2) },
		"no service":      func() (Backlog, error) { return Absorb(arrivals([]time.Duration{0}), 1, 0) },
		"no queues":       func() (Backlog, error) { return Absorb(arrivals(nil), 0, 2) },
		"no such queue":   func() (Backlog, error) { return Absorb(arrivals([]time.Duration{0}, 1), 1, 2) },
		"a burst of none": func() (Backlog, error) { return Burst(-1, 0, 2) },
	} {
		_, err := refuses()
		refused(t, name, err, OutOfDomain)
	}
}

func TestBurst(t *testing.T) {
	for _, v := range []struct {
		events  int64
		over    time.Duration
		rate    float64
		peak    int64
		drained time.Duration
	}{
		{20_000, 0, 2_000, 20_000, 10 * time.Second},
		{20_000, 5 * time.Second, 2_000, 10_000, 10 * time.Second},
		{100, 10 * time.Second, 50, 1, 10*time.Second + 20*time.Millisecond},
	} {
		b, err := Burst(v.events, v.over, v.rate)
		if want := (Backlog{Events: v.events, Peak: v.peak, Longest: v.peak, Drained: v.drained}); err != nil || b != want {
			t.Errorf("%+v, %v; want %+v", b, err, want)
		}
		// The same as its arrivals one by one, but for the one that arrives last.
		var times []time.Duration
		for i := range v.events {
			times = append(times, time.Duration(float64(v.over)*float64(i)/float64(v.events)))
		}
		one, err := Absorb(arrivals(times), 1, v.rate)
		if err != nil || math.Abs(float64(one.Peak-b.Peak)) > 2 {
			t.Errorf("%+v: %+v one by one, %v", v, one, err)
		}
	}
}

// kneeAt is a storage with a knee, and noise of a factor.
func kneeAt(knee, capacity, noise float64, seed uint64, inFlight ...int) (all []Point) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range inFlight {
		rate := min(float64(n)/knee, 1) * capacity * math.Exp(noise*rng.NormFloat64())
		all = append(all, Point{InFlight: n, Rate: rate, Latency: time.Duration(float64(n) / rate * 1e9)})
	}
	return all
}

// TestKnee finds a planted knee at 40 within 10 %.
func TestKnee(t *testing.T) {
	for seed := range uint64(50) {
		k, err := KneeOf(kneeAt(40, 2_000, 0.03, seed, 5, 10, 20, 30, 60, 90, 120))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		near(t, "knee", k.InFlight, 40, 0.1)
		near(t, "knee by latency", k.ByLatency, 40, 0.15)
		near(t, "capacity", k.Capacity, 2_000, 0.1)
	}
	for seed := range uint64(50) {
		_, err := KneeOf(kneeAt(400, 20_000, 0.03, seed, 5, 10, 20, 40, 80, 160))
		refused(t, "still rising", err, NotFlat)
		_, err = KneeOf(kneeAt(400, 20_000, 0.03, seed, 5, 10, 20, 36, 38, 40)) // the last three are nearly flat
		refused(t, "rising to points close together", err, NotFlat)
		_, err = KneeOf(kneeAt(4, 200, 0.03, seed, 5, 10, 20, 40, 80, 160))
		refused(t, "flat from the start", err, NotRising)
	}
	_, err := KneeOf(kneeAt(40, 2_000, 0, 1, 10, 10, 80, 160))
	refused(t, "three numbers in flight", err, TooFew)
	_, err = KneeOf(kneeAt(40, 2_000, 0, 1, 5, 10, 20, 30, 60))
	refused(t, "one point beyond", err, NotFlat)
	_, err = KneeOf([]Point{{1, 100, 0}, {2, 200, 0}, {3, 300, 0}, {100, 310, 0}}) // nearer to one level than to one slope
	refused(t, "one point far beyond", err, NotFlat)
	_, err = KneeOf([]Point{{10, math.NaN(), 0}})
	refused(t, "no rate", err, OutOfDomain)
}
