package apisim_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestWatchKeepsItsPromises has many watches follow random changes, some from the start, some as streaming lists, some
// resumed where another was closed, and judges each.
func TestWatchKeepsItsPromises(t *testing.T) {
	s := newServer(t, apisim.Config{BookmarkPeriod: time.Millisecond})
	const n, watches = 1200, 9
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var changes []Event // complete once the watches are over
	last := uint64(1000 + n + 1)
	came := make([][][]Event, watches) // of each, the watches one after the other
	var all sync.WaitGroup
	for w := range watches {
		all.Go(func() {
			from := uint64(1000)
			for from < last && ctx.Err() == nil {
				path := fmt.Sprintf("%s?watch=1&allowWatchBookmarks=1&resourceVersion=%d", pods, from)
				stream := w%3 == 0 && from == 1000
				if stream {
					path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
				}
				events := follow(ctx, t, s, following{path: path, stream: stream, last: last, most: 1 + w*97})
				came[w] = append(came[w], events)
				if len(events) > 0 {
					from = events[len(events)-1].Version
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(7, 7))
	live := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("p%d", rng.IntN(50))
		e := Event{Type: Added, Key: "a/" + name}
		uid, there := live[name]
		if there && rng.IntN(4) == 0 {
			o := remove(t, s, e.Key)
			e.Type, e.UID, e.Version = Deleted, o.UID, o.ResourceVersion
			delete(live, name)
		} else {
			if there {
				e.Type = Modified
			}
			o := put(t, s, e.Key, "")
			e.UID, e.Version = o.UID, o.ResourceVersion
			if there && o.UID != uid {
				t.Fatal("an update changed the uid")
			}
			live[name] = o.UID
		}
		changes = append(changes, e)
		if i%64 == 0 { // so that watches see different parts
			if err := s.AwaitReaders(ctx, "pods", 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := put(t, s, "a/end", "")
	changes = append(changes, Event{Type: Added, Key: "a/end", UID: end.UID, Version: end.ResourceVersion})
	if end.ResourceVersion != last {
		t.Fatalf("the last version is %d, not %d", end.ResourceVersion, last)
	}
	all.Wait()
	// One that begins late takes many changes at a time.
	late := follow(ctx, t, s, following{path: pods + "?watch=1&resourceVersion=1000", last: last, most: 2 * n})
	if err := Watch(1000, changes, late); err != nil {
		t.Errorf("a watch that begins late: %v", err)
	}
	resumed := 0
	for w, parts := range came {
		from := uint64(1000)
		for i, events := range parts {
			if len(events) == 0 {
				continue
			}
			reached := events[len(events)-1].Version
			upTo := changes[:slices.IndexFunc(changes, func(e Event) bool { return e.Version > reached })+1]
			if reached >= last {
				upTo = changes
			} else {
				upTo = upTo[:len(upTo)-1]
			}
			var err error
			switch {
			case i > 0:
				resumed++
				err = Resumed(from, upTo, events)
			case w%3 == 0:
				err = Stream(upTo, events)
			default:
				err = Watch(from, upTo, events)
			}
			if err != nil {
				t.Errorf("watch %d, part %d from version %d to %d: %v", w, i, from, reached, err)
			}
			from = reached
		}
		if from < last {
			t.Errorf("watch %d ended at version %d of %d", w, from, last)
		}
	}
	if resumed < watches {
		t.Errorf("%d watches resumed", resumed)
	}
}

// following says how far a watch is read: up to a version, or so many events, but always past the initial ones.
type following struct {
	path   string
	stream bool
	last   uint64
	most   int
}

func follow(ctx context.Context, t *testing.T, s *apisim.Server, f following) (events []Event) {
	resp := open(ctx, t, s, f.path)
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewReader(resp.Body)
	initial := f.stream
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return events
		}
		e, err := Parse(line)
		if err != nil {
			t.Error(err)
			return events
		}
		events = append(events, e)
		initial = initial && !e.End
		if !initial && (e.Version >= f.last || len(events) > f.most) {
			return events
		}
	}
}
