package pipeline

import (
	"testing"
	"time"
)

func TestNotice(t *testing.T) {
	var n notice
	every := int64(noticeEvery)
	for _, step := range []struct {
		now         int64
		count, want uint64
		next        int64 // when nothing else is due at 5·every
	}{
		{now: 1, count: 0, want: 0, next: 5 * every},
		{now: 2, count: 3, want: 3, next: 5 * every},
		{now: 3, count: 4, want: 0, next: 2 + every}, // too soon
		{now: 2 + every, count: 9, want: 6, next: 5 * every},
	} {
		if got := n.take(step.count, step.now); got != step.want {
			t.Errorf("at %d a count of %d: %d are logged, want %d", step.now, step.count, got, step.want)
		}
		if got := n.next(5*every, step.count); got != step.next {
			t.Errorf("at %d a count of %d: next look at %d, want %d", step.now, step.count, got, step.next)
		}
	}
	if got := n.next(0, 9); got != 0 {
		t.Errorf("nothing is due, but it looks at %d", got)
	}
	if got := n.next(0, 10); got != 2+2*every {
		t.Errorf("a line is due at %d, but it looks at %d", 2+2*every, got)
	}
}

func TestDoom(t *testing.T) {
	now := int64(time.Hour)
	aged := func(s *slot) time.Duration { return time.Duration(now - s.since) }
	for _, c := range []struct {
		name    string
		bound   Bound
		ages    []time.Duration // oldest first; each object has 10 bytes
		want    [shedReasons]uint64
		staleIn time.Duration // 0: nothing waits
	}{
		{"within", Bound{Count: 9, Bytes: 99, Age: time.Minute}, []time.Duration{10e9, 5e9}, [shedReasons]uint64{}, 50e9},
		{"too old", Bound{Count: 9, Bytes: 99, Age: time.Minute}, []time.Duration{60e9, 59e9},
			[shedReasons]uint64{shedAge: 1}, time.Minute / (2 * slack)},
		{"all too old", Bound{Count: 9, Bytes: 99, Age: time.Minute}, []time.Duration{70e9, 60e9},
			[shedReasons]uint64{shedAge: 2}, 0},
		{"too many, with an eighth to spare", Bound{Count: 8, Bytes: 99, Age: time.Minute},
			[]time.Duration{9, 8, 7, 6, 5, 4, 3, 2, 1}, [shedReasons]uint64{shedCount: 2}, time.Minute - 7},
		{"too many bytes", Bound{Count: 99, Bytes: 24, Age: time.Minute}, []time.Duration{3, 2, 1},
			[shedReasons]uint64{shedBytes: 1}, time.Minute - 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bounded{Bound: c.bound}
			var all []*slot
			for _, age := range c.ages {
				all = append(all, &slot{since: now - int64(age), size: 10})
			}
			some := b.doom(all, len(all), int64(10*len(all)), aged, now)
			if some != (b.total() > 0) || b.by != c.want {
				t.Errorf("%v, shed %v, want %v", some, b.by, c.want)
			}
			doomed := uint64(0)
			for i, s := range all {
				if s.doomed != (uint64(i) < b.total()) {
					t.Errorf("slot %d doomed %v: the oldest go first", i, s.doomed)
				}
				if s.doomed {
					doomed++
				}
			}
			if doomed != b.total() {
				t.Errorf("%d doomed, %d counted", doomed, b.total())
			}
			if want := c.staleIn; want == 0 && b.staleAt != 0 || want != 0 && b.staleAt != now+int64(want) {
				t.Errorf("looks again in %v, want %v", time.Duration(b.staleAt-now), want)
			}
		})
	}
}
