package query

import (
	"context"
	"errors"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/view"
)

func (q *request) await(ctx context.Context, v *view.View, version uint64) error {
	if version == 0 || version <= v.Stats().Version {
		return nil
	}
	if err := q.place.wait(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, kubeapi.MaxWait)
	defer cancel()
	err := v.WaitFor(limited, version)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return kubeapi.TooLarge(version, v.Stats().Version)
	}
	if err != nil {
		return err
	}
	return q.place.back()
}

// see finds the state that a list asks for, and the version to show for it.
func (o *options) see(v *view.View) (*view.Snapshot, uint64, error) {
	version, exact := o.Asked()
	if !exact {
		s, err := v.Snapshot()
		if err != nil {
			return nil, 0, err
		}
		return s, s.Version, nil
	}
	s, err := v.At(version)
	if errors.Is(err, view.ErrExpired) {
		err = kubeapi.Expired(o.Token)
	}
	return s, version, err
}
