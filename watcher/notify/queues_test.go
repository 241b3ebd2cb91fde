package notify_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/view"
)

// TestSubscription: over a restart of its server under load, a subscription delivers every change, in order and once.
func TestSubscription(t *testing.T) {
	dir := t.TempDir()
	s := startNATS(t, dir, -1, nil)
	st := makeStream(t, s, nil)
	port := must(strconv.Atoi(s.ClientURL()[strings.LastIndex(s.ClientURL(), ":")+1:]))
	k := newKind(t, view.Config{Window: 1 << 14})
	reg, stop := run(t, k, decode(t, fmt.Sprintf(`{"subscriptions":[{"name":"s","resource":"v1/pods","initial":"list","workers":8,
		"retry":{"initial":"20ms","max":"200ms"},
		"target":{"nats":{"servers":[%q],"allow":["127.0.0.0/8"],"stream":"K8S","timeout":"1s"}}}]}`, s.ClientURL())), nil)
	const objects, versions = 20, 60
	for v := range versions {
		if v == versions/3 {
			s.Shutdown()
			s.WaitForShutdown()
		}
		if v == 2*versions/3 {
			startNATS(t, dir, port, nil)
		}
		for o := range objects {
			k.put(fmt.Sprint("n/o", o), fmt.Sprint("u", o), "", "")
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	if n := value(t, reg, "k8swatch_notify_retried_total"); n == 0 {
		t.Error("no delivery failed: the restart was not noticed")
	}
	eventually(t, "the test's own connection comes back, too", func() bool { _, err := st.Info(t.Context()); return err == nil })
	seen := map[string]int{}
	for _, m := range messages(t, st) {
		f := strings.Split(m.Header.Get("Nats-Msg-Id"), ":")
		o, _ := strconv.Atoi(f[0][1:])
		if want := fmt.Sprint(101 + o + objects*seen[f[0]]); f[1] != want {
			t.Fatalf("%s: version %s, want %s", f[0], f[1], want)
		}
		seen[f[0]]++
	}
	for uid, n := range seen {
		if n != versions {
			t.Errorf("%s: %d messages, want %d", uid, n, versions)
		}
	}
	if len(seen) != objects {
		t.Errorf("%d objects", len(seen))
	}
}
