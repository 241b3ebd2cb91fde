package legacy

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A burst into a storage that takes 50 requests a second, first come, first served. With
// 30 queues each is served every 0.6 s: even short ones find room within a second and
// the eventQueue holds the rest. With more queues, served every 2.4 s or 4.8 s, what
// finds its queue full is lost and counted, five a second at most, one per worker. The
// original's length does not fill, and every pod arrives, half a minute late.
func TestBurst(t *testing.T) {
	const pods, rate = 1500, 50
	for _, tc := range []struct {
		queues, length int
		least, most    uint64 // lost
	}{
		{30, 8, 1, 30},
		{120, 8, 5, 60},
		{240, 2, 20, 150},
		{120, 1024, 0, 0},
		{30, defaultHandlerQueueLen, 0, 0},
	} {
		t.Run(fmt.Sprintf("%dx%d", tc.queues, tc.length), func(t *testing.T) {
			run(t, func(c *Config, _ *Settings) { c.PodQueueNum, c.HandlerQueueLen = tc.queues, tc.length }, func(c *cluster, f *fake) {
				var turn sync.Mutex // guards free
				free := time.Now()
				f.answerBy(func(call) error {
					turn.Lock()
					now := time.Now()
					if free.Before(now) {
						free = now
					}
					free = free.Add(time.Second / rate)
					wait := free.Sub(now)
					turn.Unlock()
					time.Sleep(wait)
					return nil
				})
				for i := range pods {
					c.put(pod(fmt.Sprintf("web-%d", i)))
					time.Sleep(2 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				s := c.p.Stats()
				if s.Queued != 0 || int(s.Sent) != len(f.holds()) || s.Dropped < tc.least || s.Dropped > tc.most {
					t.Errorf("%+v and %d rows, want %d to %d lost", s, len(f.holds()), tc.least, tc.most)
				}
				t.Logf("%d of %d lost", s.Dropped, pods)
			})
		})
	}
}
