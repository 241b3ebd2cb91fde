package notify

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/watches"
)

// TestUnservedIsLoggedOnce: a kind that is not served, or not followed by anybody, is no news
// each time that it is looked for. Who follows it may come a little later.
func TestUnservedIsLoggedOnce(t *testing.T) {
	for _, tc := range []struct {
		err  error
		runs time.Duration
		want []string
	}{
		{watches.ErrNotServed, 30 * time.Minute, []string{"does not serve it"}},
		{watches.ErrNotFollowed, 30 * time.Second, nil},
		{watches.ErrNotFollowed, 30 * time.Minute, []string{"it is not followed"}},
	} {
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			n, err := New(Config{Subscriptions: []Subscription{{
				Name: "s", Resource: watches.GVR{Version: "v1", Resource: "podz"}, Target: Target{Webhook: Webhook{URL: "https://h/"}},
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
