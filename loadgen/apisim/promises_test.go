package apisim_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// Event is one frame of a watch, or one change that happened.
type Event struct {
	Type    string
	Key     string // namespace/name; / for a bookmark
	UID     string
	Version uint64
	End     bool // the bookmark behind the initial events of a streaming list
}

// parse reads one line of a watch.
func parse(line []byte) (e Event, err error) {
	var f struct {
		Type   string
		Object struct{ Metadata metav1.ObjectMeta }
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return e, err
	}
	m := f.Object.Metadata
	e = Event{Type: f.Type, Key: m.Namespace + "/" + m.Name, UID: string(m.UID), End: m.Annotations[metav1.InitialEventsAnnotationKey] == "true"}
	e.Version, err = strconv.ParseUint(m.ResourceVersion, 10, 64)
	return e, err
}

// judge compares what a watch from a version on showed with all that happened: first, on a streaming list, the state at
// its closing bookmark; then each later change once and in order; and a bookmark not before what it covers.
func judge(from uint64, stream bool, changes, came []Event) error {
	if stream {
		end := slices.IndexFunc(came, func(e Event) bool { return e.End })
		if end < 0 {
			return errors.New("the initial events have no end")
		}
		from = came[end].Version
		state := map[string]uint64{}
		for _, c := range changes {
			if c.Version <= from {
				if state[c.Key] = c.Version; c.Type == "DELETED" {
					delete(state, c.Key)
				}
			}
		}
		for _, e := range came[:end] {
			if version, there := state[e.Key]; e.Type != "ADDED" || !there || version != e.Version {
				return fmt.Errorf("the initial events show %+v, which was at version %d", e, version)
			}
			delete(state, e.Key)
		}
		if came = came[end+1:]; len(state) > 0 {
			return fmt.Errorf("the initial events lack %v", state)
		}
	}
	changes = slices.DeleteFunc(slices.Clone(changes), func(c Event) bool { return c.Version <= from })
	for _, e := range came {
		switch {
		case e.Type == "BOOKMARK":
			if e.Version < from || len(changes) > 0 && changes[0].Version <= e.Version {
				return fmt.Errorf("the bookmark of version %d came after %d and before %+v", e.Version, from, changes[:min(1, len(changes))])
			}
		case len(changes) == 0 || changes[0] != e:
			return fmt.Errorf("%+v came, want %+v", e, changes[:min(1, len(changes))])
		default:
			changes = changes[1:]
		}
		from = e.Version
	}
	if len(changes) > 0 {
		return fmt.Errorf("%d events did not come, the first is %+v", len(changes), changes[0])
	}
	return nil
}

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
		e := Event{Type: "ADDED", Key: "a/" + name}
		uid, there := live[name]
		if there && rng.IntN(4) == 0 {
			o := remove(t, s, e.Key)
			e.Type, e.UID, e.Version = "DELETED", o.UID, o.ResourceVersion
			delete(live, name)
		} else {
			if there {
				e.Type = "MODIFIED"
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
	changes = append(changes, Event{Type: "ADDED", Key: "a/end", UID: end.UID, Version: end.ResourceVersion})
	if end.ResourceVersion != last {
		t.Fatalf("the last version is %d, not %d", end.ResourceVersion, last)
	}
	all.Wait()
	// One that begins late takes many changes at a time.
	late := follow(ctx, t, s, following{path: pods + "?watch=1&resourceVersion=1000", last: last, most: 2 * n})
	if err := judge(1000, false, changes, late); err != nil {
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
			if i > 0 {
				resumed++
			}
			err := judge(from, i == 0 && w%3 == 0, upTo, events)
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
		e, err := parse(line)
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
