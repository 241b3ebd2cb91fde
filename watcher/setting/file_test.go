package setting_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/setting"
)

// TestLatest: files are read again once what was read is old enough; while they cannot be,
// the last stays and the first failure in a row is told.
func TestLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail error
		loads, warned := 0, 0
		load := func() (int, error) {
			loads++
			return loads, fail
		}
		l, err := setting.NewLatest(load, time.Second, func(error) { warned++ })
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name         string
			wait         time.Duration
			fail         error
			want, warned int
		}{
			{"at once", 0, nil, 1, 0},
			{"just before", time.Second - 1, nil, 1, 0},
			{"old", 1, nil, 2, 0},
			{"gone", time.Second, errors.New("gone"), 2, 1},
			{"still gone", time.Second, errors.New("gone"), 2, 1},
			{"back", time.Second, nil, 5, 1},
			{"gone again", time.Second, errors.New("gone"), 5, 2},
		} {
			time.Sleep(tc.wait)
			fail = tc.fail
			if got := l.Get(); got != tc.want || warned != tc.warned {
				t.Errorf("%s: %d, warned %d times; want %d, %d", tc.name, got, warned, tc.want, tc.warned)
			}
		}
		if _, err := setting.NewLatest(load, 0, nil); err == nil {
			t.Error("what cannot be read at the start is no error")
		}
	})
}
