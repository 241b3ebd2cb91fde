package pipeline

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

// The vectors are the contract's (§2.5).
func TestPartitionOf(t *testing.T) {
	for _, v := range []struct {
		namespace, name string
		want            map[int]int
	}{
		{"team-a", "web-abc-1", map[int]int{1: 0, 3: 2, 10: 9, 30: 29, 120: 119}},
		{"default", "nginx-0", map[int]int{1: 0, 3: 0, 10: 9, 30: 9, 120: 99}},
	} {
		for n, want := range v.want {
			if got := PartitionOf(v.namespace, v.name, n); got != want {
				t.Errorf("%s/%s of %d queues: %d, want %d", v.namespace, v.name, n, got, want)
			}
			if got := PartitionOf("", v.namespace+"/"+v.name, n); got != want {
				t.Errorf("name %s/%s of %d queues: %d, want %d", v.namespace, v.name, n, got, want)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	for _, v := range []struct {
		strategy Strategy
		queues   int
		kind     string
		want     shape
		first    string
		last     string
	}{
		{Single, 30, "Pod", shape{partitions: 1, workers: 1, exclusive: true}, "Pod", "Pod"},
		{Unordered, 30, "Pod", shape{partitions: 1, workers: 30}, "Pod", "Pod"},
		{Dedup, 30, "Node", shape{partitions: 1, workers: 30, exclusive: true, merge: true}, "Node", "Node"},
		{Adaptive, 0, "Pod", shape{partitions: 1, workers: 512, exclusive: true, merge: true, adaptive: true}, "Pod", "Pod"},
		{Keyed, 0, "Pod", shape{partitions: 1, workers: 1, exclusive: true}, "Pod", "Pod"},
		{Partitioned, 30, "Pod", shape{partitions: 30, workers: 1, exclusive: true, numbered: true}, "Pod_0", "Pod_29"},
		{Partitioned, 30, "Event", shape{partitions: 120, workers: 1, exclusive: true, numbered: true}, "Event_0", "Event_119"},
		{Partitioned, 30, "Node", shape{partitions: 1, workers: 1, exclusive: true}, "Node", "Node"},
		{Partitioned, 0, "Pod", shape{partitions: 1, workers: 1, exclusive: true}, "Pod", "Pod"},
		{Partitioned, 0, "Event", shape{partitions: 1, workers: 1, exclusive: true}, "Event", "Event"},
	} {
		c := config(v.strategy)
		c.PodQueueNum = v.queues
		got := shapeOf(c, v.kind)
		if got != v.want {
			t.Errorf("%s of %s with %d: %+v, want %+v", v.strategy, v.kind, v.queues, got, v.want)
		}
		if first, last := got.queueName(v.kind, 0), got.queueName(v.kind, got.partitions-1); first != v.first || last != v.last {
			t.Errorf("%s of %s: queues %s … %s, want %s … %s", v.strategy, v.kind, first, last, v.first, v.last)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Fatalf("the default: %v", err)
	}
	for want, spoil := range map[string]func(*Config){
		"strategy": func(c *Config) { c.Strategy = Unordered }, "queueFull": func(c *Config) { c.QueueFull = "" },
		"podQueueNum": func(c *Config) { c.PodQueueNum = -1 }, "maxInFlight": func(c *Config) { c.MaxInFlight = 0 },
		"writerQueueLen": func(c *Config) { c.WriterQueueLen = 0 }, "handlerQueueLen": func(c *Config) { c.HandlerQueueLen = 0 },
		"parkAfter": func(c *Config) { c.ParkAfter = 0 }, "queueFullTimeout": func(c *Config) { c.QueueFullTimeout = 0 },
		"eventQueueLen": func(c *Config) { c.Events.Count = 0 }, "eventQueueBytes": func(c *Config) { c.Events.Bytes = 0 },
		"backoff.min": func(c *Config) { c.Backoff.Min = 0 }, "backoff.max": func(c *Config) { c.Backoff.Max = time.Millisecond },
		"maxThrottle": func(c *Config) { c.MaxThrottle = 0 }, "fenceDelay": func(c *Config) { c.FenceDelay = -1 },
		"drainTimeout": func(c *Config) { c.DrainTimeout = -1 },
	} {
		c := Default()
		spoil(&c)
		if err, is := errors.AsType[*FieldError](c.Validate()); !is || err.Field != want {
			t.Errorf("got %v, want an error of %s", err, want)
		}
		if _, err := New(c, Settings{Sender: newStore(0)}); err == nil {
			t.Errorf("New accepts a config with a wrong %s", want)
		}
	}
}

func TestBackoffGrowsWithinBounds(t *testing.T) {
	b := Default().Backoff
	for n := 1; n <= 100; n++ {
		full := b.Max
		if n < 10 {
			full = min(b.Max, b.Min<<(n-1))
		}
		seen := map[int64]bool{}
		for range 50 {
			d := b.delay(n)
			if d < int64(full)/2 || d > int64(full) {
				t.Fatalf("delay %d is %s: want %s to %s", n, time.Duration(d), full/2, full)
			}
			seen[d] = true
		}
		if len(seen) < 10 {
			t.Errorf("delay %d has no jitter: %s", n, fmt.Sprint(seen))
		}
	}
}

func TestRowOfFailures(t *testing.T) {
	for _, v := range []struct {
		n                int
		failed, answered uint64
		want             float64 // n!·… by hand
	}{
		{1, 0, 0, 1.0 / 2},
		{1, 0, 8, 1.0 / 10},
		{2, 1, 1, 2.0 / 4 * 3 / 5},
		{3, 0, 2, 1.0 / 4 * 2 / 5 * 3 / 6},
	} {
		if got := math.Exp(rowOfFailures(v.n, v.failed, v.answered)); math.Abs(got-v.want) > 1e-12 {
			t.Errorf("%d failures beside %d and %d: %v, want %v", v.n, v.failed, v.answered, got, v.want)
		}
	}
}
