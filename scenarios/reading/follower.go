package reading

import (
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Follower judges R4: the storages of both watchers hold the same objects in the end, with
// the same versions and content. Of first only storage's side counts.
func Follower(first, second iter.Seq2[history.StateRecord, error]) (c result.Check, objects int64, err error) {
	want := map[history.Key]string{}
	for s, err := range first {
		if err != nil {
			return c, 0, err
		}
		if s.Side == history.SideStorage {
			want[s.Key()] = s.UID + " " + s.Digest
		}
	}
	t := &tally{}
	for s, err := range second {
		if err != nil {
			return c, 0, err
		}
		objects++
		t.judged++
		key := s.Key()
		switch had, there := want[key]; {
		case !there:
			t.wrong(fmt.Errorf("%w: %s is only there", ErrFollower, key))
		case had != s.UID+" "+s.Digest:
			t.wrong(fmt.Errorf("%w: %s is there at version %d of uid %s, and is another", ErrFollower, key, s.ResourceVersion, s.UID))
		}
		delete(want, key)
	}
	for key := range want {
		t.judged++
		t.wrong(fmt.Errorf("%w: %s is missing there", ErrFollower, key))
	}
	return t.check(), objects, nil
}
