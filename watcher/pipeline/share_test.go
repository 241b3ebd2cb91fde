package pipeline

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestBacklogLeavesRoom: while a backlog of one kind takes all requests in flight, a storage
// that is far away still gets the live changes of another.
func TestBacklogLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(87 * time.Millisecond)
		c := config(Adaptive)
		c.MaxInFlight, c.DrainTimeout = 64, time.Hour
		l := start(t, c, s, nil)
		for i := range 20000 {
			e := put(fmt.Sprint("c-", i), 1)
			e.Key.Kind = "ConfigMap"
			l.enqueue(e)
		}
		time.Sleep(5 * time.Second)
		var worst time.Duration
		for i := range 500 { // 50 changes a second
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
			time.Sleep(20 * time.Millisecond)
			worst = max(worst, l.Lag("Pod"))
		}
		if worst > time.Second {
			t.Errorf("a change waits for %s", worst)
		}
		l.finish()
	})
}
