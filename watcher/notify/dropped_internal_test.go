package notify

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/notify/delivery"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestDroppedIsLogged: the lines say how many events were lost, whatever else fails
// meanwhile, and at the end none is left unsaid.
func TestDroppedIsLogged(t *testing.T) {
	var out bytes.Buffer
	c := Subscription{Name: "s"}.withDefaults()
	s := &subscription{Subscription: c, logger: slog.New(slog.NewTextHandler(&out, nil)), queue: newQueue(c.Queue), series: newMetrics().of("s")}
	s.failing.allow(1)
	s.full(3)
	s.full(2)
	for i := range 5 {
		s.queue.put(itemOf(string(rune('a'+i)), 1, 1))
	}
	s.end()
	got := regexp.MustCompile(`events dropped.*`).FindAllString(out.String(), -1)
	want := []string{
		`events dropped" reason=` + dropFull + ` events=3`, `events dropped" reason=` + dropFull + ` events=2`,
		`events dropped" reason=` + dropAbandoned + ` events=5`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnservedIsLoggedOnce: a kind that is not served, or not followed by anybody, is no news
// each time that it is looked for. Who follows it may come a little later.
func TestUnservedIsLoggedOnce(t *testing.T) {
	for _, tc := range []struct {
		err  error
		runs time.Duration
		want []string
	}{
		{watches.ErrNotServed, 30 * time.Minute, []string{"no such kind is served"}},
		{watches.ErrNotFollowed, 30 * time.Second, nil},
		{watches.ErrNotFollowed, 30 * time.Minute, []string{"pin it"}},
	} {
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			n, err := New(Config{Subscriptions: []Subscription{{
				Name: "s", Resource: Resource{Version: "v1", Resource: "podz"}, Target: Target{Webhook: delivery.Webhook{URL: "https://h/"}},
			}}}, Settings{Kinds: unserved{tc.err}, Logger: slog.New(slog.NewTextHandler(&out, nil))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), tc.runs)
			defer cancel()
			if err := n.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		if n := strings.Count(out.String(), "v1/podz"); n != len(tc.want) || n > 0 && !strings.Contains(out.String(), tc.want[0]) {
			t.Errorf("%v for %s: want %q:\n%s", tc.err, tc.runs, tc.want, out.String())
		}
	}
}

// unserved are the Kinds of a cluster without any, which say so by an error.
type unserved struct{ err error }

func (u unserved) Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error) {
	return nil, u.err
}
