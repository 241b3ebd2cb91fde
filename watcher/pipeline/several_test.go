package pipeline

import (
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/storage"
)

// A name that is deleted, given to another object and deleted again while its first
// object cannot be sent ends in one deletion. Storage may hold either object, so the
// deletion must not name the second one.
func TestMergedDeletionMeansWhicheverIsThere(t *testing.T) {
	object := func(action Action, uid string, version uint64) Event {
		e := put("pod", version)
		e.Action, e.UID = action, uid
		if action == Delete {
			e.Object = nil
		}
		return e
	}
	for name, tt := range map[string]struct {
		then []Event
		want string // the uid of the deletion
	}{
		"another object": {[]Event{object(Delete, "first", 2), object(Put, "second", 3), object(Delete, "second", 4)}, ""},
		"the same":       {[]Event{object(Put, "first", 2), object(Delete, "first", 4)}, "first"},
	} {
		for outcome, fails := range map[string]error{
			"unknown":   &storage.UnknownOutcomeError{Err: errBroken},
			"transient": &storage.TransientError{Err: errBroken},
			"permanent": &storage.PermanentError{Err: errBroken},
		} {
			t.Run(name+" "+outcome, func(t *testing.T) {
				ordered(t, func(t *testing.T, c Config) {
					s := newStore(10 * time.Millisecond)
					s.fault = func(e Event) error {
						if e.Action == Put {
							return fails
						}
						return nil
					}
					l := start(t, c, s, nil)
					l.enqueue(object(Put, "first", 1))
					time.Sleep(15 * time.Millisecond) // the first try has failed
					l.enqueue(tt.then...)
					time.Sleep(time.Minute)
					var deleted []string
					for _, r := range s.tries(func(e Event) bool { return e.Action == Delete }) {
						deleted = append(deleted, r.ev.UID)
					}
					// Without a merge each deletion is sent and means its own object.
					if n := len(deleted); n == 0 || n == 1 && deleted[0] != tt.want || n > 1 && !slices.Contains(deleted, "first") {
						t.Errorf("deletions of %q, want one of %q or one for each object", deleted, tt.want)
					}
					if st := l.finish(); !st.Balanced() || st.Queued+st.Parked > 0 {
						t.Errorf("%+v", st)
					}
				})
			})
		}
	}
}
