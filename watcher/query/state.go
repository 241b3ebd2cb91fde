package query

import (
	"context"
	"errors"
	"time"

	"github.com/watchbench/watchbench/watcher/view"
)

// maxWait is how long a request waits for a version that is still to come, as in the
// apiserver.
const maxWait = 3 * time.Second

// await waits until a view has a version.
func (q *request) await(ctx context.Context, v *view.View, version uint64) error {
	if version == 0 || version <= v.Stats().Version {
		return nil
	}
	if err := q.place.wait(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	err := v.WaitFor(limited, version)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return tooLarge(version, v.Stats().Version)
	}
	if err != nil {
		return err
	}
	return q.place.back()
}

// asked is the version whose state a list asks for, and whether no other will do.
func (o *options) asked() (version uint64, exact bool) {
	if o.token.Version > 0 {
		return uint64(o.token.Version), true
	}
	return o.version, o.exact
}

// see finds the state that a list asks for, and the version to show for it.
func (o *options) see(v *view.View) (*view.Snapshot, uint64, error) {
	version, exact := o.asked()
	if !exact {
		s, err := v.Snapshot()
		if err != nil {
			return nil, 0, err
		}
		return s, s.Version, nil
	}
	s, err := v.At(version)
	if errors.Is(err, view.ErrExpired) && o.token.Version > 0 {
		err = expiredToken(o.token)
	}
	return s, version, err
}
