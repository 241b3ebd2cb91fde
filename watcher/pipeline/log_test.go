package pipeline

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/storage"
)

// lines is a log that can be read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// expect checks that the log has these lines, each so many times, and no others.
func (l *lines) expect(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for line := range strings.Lines(l.String()) {
		known := false
		for w := range want {
			if strings.Contains(line, w) {
				got[w]++
				known = true
			}
		}
		if !known {
			t.Errorf("unexpected: %s", line)
		}
	}
	for w, n := range want {
		if got[w] != n {
			t.Errorf("%d lines with %q: want %d; the log:\n%s", got[w], w, n, l.String())
		}
	}
}

func logged(t *testing.T, c Config, s *store) (*line, *lines) {
	t.Helper()
	out := &lines{}
	p, err := New(c, Settings{Sender: s, Logger: out.logger()})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, p, s), out
}

func TestLogOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Millisecond)
		s.fault = down
		l, out := logged(t, config(Keyed), s)
		for i := range 100 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		began := time.Now()
		time.Sleep(time.Minute)
		if all := l.Paced(); len(all) != 1 || all[0].Kind != "Pod" || all[0].Err == nil || all[0].Since.Sub(began).Abs() > time.Second {
			t.Errorf("paced: %+v", all)
		}
		s.setFault(up)
		time.Sleep(time.Minute)
		if all := l.Paced(); len(all) > 0 {
			t.Errorf("paced in the end: %+v", all)
		}
		l.finish()
		out.expect(t, map[string]int{`level=INFO msg=drained sent=0 parked=0 took=0s`: 1}) // of the outage the watcher's reporter tells
	})
}

func TestLogOfWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Hour)
		c := config(Single)
		c.HandlerQueueLen, c.QueueFull, c.DrainTimeout = 3, Drop, time.Second
		l, out := logged(t, c, s)
		for i := range 10 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1), put(fmt.Sprint("node-", i%2), 1).of("Node"))
		}
		time.Sleep(time.Minute)
		l.finish()
		out.expect(t, map[string]int{
			`level=WARN msg="events dropped" reason="queue full" kind=Pod events=6 queueFullTimeout=1s`:                                                     1,
			`level=WARN msg="events dropped" reason="queue full" kind=Node events=6`:                                                                        1,
			`level=WARN msg="events dropped" reason="not sent before the drain deadline" sent=0 parked=0 drainTimeout=1s events=8 kinds.Node=4 kinds.Pod=4`: 1,
			`level=INFO msg=draining events=8 drainTimeout=1s`:                                                                                              1,
		})
	})
}

func TestLogOfParkedObjectsIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(0)
		s.fault = func(Event) error { return &storage.PermanentError{Err: errBroken} }
		l, out := logged(t, config(Keyed), s)
		for i := range 1000 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		time.Sleep(time.Second)
		l.finish()
		// Which object comes first is the scheduler's choice.
		out.expect(t, map[string]int{
			`level=WARN msg="object parked until its next change" kind=Pod object=Pod/ns/pod-`: 1,
			`level=INFO msg=drained sent=0 parked=1000 took=0s`:                                1,
		})
		if want := `parked=1 error="storage refused: broken on purpose"`; !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, out)
		}
	})
}
