package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// timeline carries out a scenario's events, one after the other.
type timeline struct {
	c     *cellRun
	rng   *rand.Rand
	fired map[string]int64 // how often each kind of event happened
	keys  map[string]int64 // how many objects it concerned
	next  int              // of the rows and objects to take, so that each is used once
	added int
}

func (c *cellRun) newTimeline() *timeline {
	return &timeline{c: c, rng: rand.New(rand.NewPCG(c.seed(), 0x6576656e7473)), fired: map[string]int64{}, keys: map[string]int64{}}
}

// run does everything in its time.
func (t *timeline) run(ctx context.Context, start time.Time) error {
	for i, e := range t.c.s.Events {
		if err := pause(ctx, max(0, time.Until(start.Add(e.At.Draw(t.rng))))); err != nil {
			return err
		}
		if err := t.do(ctx, e); err != nil {
			return fmt.Errorf("event %d (%s): %w", i+1, e.What, err)
		}
		t.c.lastEvent = time.Now().UnixNano()
	}
	return nil
}

func (t *timeline) do(ctx context.Context, e spec.Event) error {
	c := t.c
	switch e.What {
	case spec.EventTerm:
		t.fired[e.What]++
		return c.terminate(ctx, c.watcher)
	case spec.EventKill:
		t.fired[e.What]++
		c.killWatcher()
		return nil
	case spec.EventStart:
		t.fired[e.What]++
		return c.restart(ctx, e.PodQueueNum)
	case spec.EventKillRestart, spec.EventTermRestart:
		return t.restarts(ctx, e)
	case spec.EventStop:
		t.fired[e.What]++
		c.mark(history.MarkStopped)
		c.watcher.signal(syscall.SIGSTOP)
		err := pause(ctx, e.For.Std())
		c.watcher.signal(syscall.SIGCONT)
		c.mark(history.MarkContinued)
		return err
	case spec.EventTamperRemove, spec.EventTamperEdit, spec.EventTamperAdd:
		return t.tamper(ctx, e)
	case spec.EventCreateObjects:
		t.fired[e.What]++
		return t.each(e, func(i int) error {
			t.added++
			_, err := c.api.createPod(ctx, c.extraNamespace(0), fmt.Sprintf("added-%d", t.added), c.r.cellRunID(c.id), int(e.Bytes))
			return err
		})
	case spec.EventDeleteObjects:
		t.fired[e.What]++
		return t.each(e, func(int) error { return c.api.deletePod(ctx, c.extraNamespace(0), t.take()) })
	case spec.EventRecreate:
		t.fired[e.What]++
		return t.each(e, func(int) error {
			ns, name := c.extraNamespace(0), t.take()
			if err := c.api.deletePod(ctx, ns, name); err != nil {
				return err
			}
			uid, err := c.api.createPod(ctx, ns, name, c.r.cellRunID(c.id), 0)
			c.recreated = append(c.recreated, recreated{ns, name, uid})
			return err
		})
	case spec.EventDeleteNamespace:
		t.fired[e.What]++
		t.keys[e.What] += int64(c.s.Extra.Pods)
		return c.deleteExtraNamespace(ctx)
	case spec.EventJoin, spec.EventLeave:
		t.fired[e.What]++
		return t.second(ctx, e.What == spec.EventJoin)
	case spec.EventKillLeader:
		t.fired[e.What]++
		return c.killLeader(ctx)
	case spec.EventResize:
		t.fired[e.What]++
		return c.resize(ctx, e)
	case spec.EventRotateCA:
		t.fired[e.What]++
		return c.rotateCA(ctx)
	case spec.EventRotateToken:
		t.fired[e.What]++
		return c.rotateToken(ctx)
	case spec.EventKillStorage:
		t.fired[e.What]++
		return c.killStorage(ctx, e)
	case spec.EventCRDAdd, spec.EventCRDSwitch, spec.EventCRDUnserve, spec.EventCRDRemove, spec.EventChangeCustoms:
		t.fired[e.What]++
		return t.custom(ctx, e)
	}
	return fmt.Errorf("this program does not know how to do it")
}

// restarts ends and starts the watcher times over, each at a moment of its own.
func (t *timeline) restarts(ctx context.Context, e spec.Event) error {
	c, n := t.c, max(1, e.Times)
	for i := range n {
		if err := pause(ctx, e.Every.Draw(t.rng)); err != nil {
			return err
		}
		c.r.progress.note(fmt.Sprintf("%s %d/%d", e.What, i+1, n))
		if e.What == spec.EventTermRestart {
			if err := c.terminate(ctx, c.watcher); err != nil {
				return err
			}
		} else {
			c.killWatcher()
		}
		t.fired[e.What]++
		if err := c.restart(ctx, e.PodQueueNum); err != nil {
			return err
		}
	}
	c.r.progress.note("")
	return nil
}

// each does something to as many objects as the event says.
func (t *timeline) each(e spec.Event, do func(i int) error) error {
	for i := range e.Number() {
		if err := do(i); err != nil {
			return err
		}
		t.keys[e.What]++
	}
	return nil
}

// take names one of the cell's own pods that was not touched yet.
func (t *timeline) take() string {
	name := extraPod(t.next % t.c.s.Extra.Pods)
	t.next++
	return name
}

// second lets another watcher work beside the first, or ends it.
func (t *timeline) second(ctx context.Context, join bool) error {
	c := t.c
	if !join {
		w := c.others[len(c.others)-1]
		c.others = c.others[:len(c.others)-1]
		w.stop(c.s.Watcher.DrainTimeout.Std() + exitSlack)
		return nil
	}
	w, err := c.launch(ctx, 0)
	if err != nil {
		return err
	}
	c.others, c.joined = append(c.others, w), true
	return c.awaitReady(ctx, w)
}

// tamper changes rows behind the watcher's back.
func (t *timeline) tamper(ctx context.Context, e spec.Event) error {
	c := t.c
	t.fired[e.What]++
	return t.each(e, func(i int) error {
		var name, what, body string
		ns, method := c.extraNamespace(0), http.MethodPut
		switch e.What {
		case spec.EventTamperRemove:
			method, name, what = http.MethodDelete, t.take(), history.MarkTamperRemove
		case spec.EventTamperEdit:
			name, what = t.take(), history.MarkTamperEdit
			data, err := c.api.pod(ctx, ns, name)
			if err != nil {
				return err
			}
			if body, err = edited(data); err != nil {
				return err
			}
		default:
			t.added++
			name, what = fmt.Sprintf("nobody-%d", t.added), history.MarkTamperAdd
			body = fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"uid":"00000000-0000-4000-8000-%012d","resourceVersion":"1"}}`, name, ns, t.added)
		}
		q := url.Values{"cluster": {clusterID}, "kind": {podKind}, "namespace": {ns}, "name": {name}}
		c.marks = append(c.marks, history.Mark{Time: time.Now().UnixNano(), What: what, Kind: podKind, Namespace: ns, Name: name})
		_, err := adminCall(ctx, c.mock.http, method, c.mock.admin+"/state?"+q.Encode(), body)
		return err
	})
}

// edited is an object whose content was changed and whose version was not: only a
// comparison of content finds it.
func edited(data []byte) (string, error) {
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		return "", fmt.Errorf("read a pod: %w", err)
	}
	spec, _ := o["spec"].(map[string]any)
	if spec == nil {
		return "", fmt.Errorf("edit a pod: it has no spec")
	}
	spec["nodeName"] = "tampered"
	out, err := json.Marshal(o)
	return string(out), err
}
