package watcher

import (
	"context"
	"sync"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/storage"
)

// namingPause is when a row is offered again whose kind is to be named first.
const namingPause = 20 * time.Millisecond

type sender struct {
	// unnamed reports whether rows of a kind must wait: see synchronizer.Unnamed.
	unnamed  func(kind string) bool
	storage  *storage.Client
	workload workload
	owners   *owners
	byUID    bool // the row may be another shard's by now: a deletion names the uid
	// clusterScoped reports whether a kind is collected and has no namespaces.
	clusterScoped func(kind string) bool
	// unpacked are buffers for objects on their way: a request has been written, or has
	// failed, when Put returns.
	unpacked sync.Pool
}

const keepUnpacked = 64 << 10

// Send implements pipeline.Sender.
func (s *sender) Send(ctx context.Context, e pipeline.Event) error {
	if e.Action == pipeline.Delete {
		s.owners.forget(e.Key)
		if s.byUID || e.Key.Namespace == "" && !s.clusterScoped(e.Key.Kind) {
			return s.storage.DeleteOnly(ctx, e.Key, e.UID)
		}
		return s.storage.Delete(ctx, e.Key, e.UID)
	}
	if s.unnamed(e.Key.Kind) {
		return &pipeline.EarlyError{After: namingPause}
	}
	buf, _ := s.unpacked.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	var plain *object.Object
	plain, *buf = e.Object.Unpacked(*buf)
	if cap(*buf) <= keepUnpacked {
		defer s.unpacked.Put(buf)
	}
	o, via, err := s.workload.annotate(plain)
	switch {
	case err != nil:
		return &storage.PermanentError{Err: err}
	case via == "":
		s.owners.forget(e.Key)
	default:
		if d := s.owners.wait(e, via); d > 0 {
			return &pipeline.EarlyError{After: d}
		}
	}
	return s.storage.Put(ctx, o)
}

var _ pipeline.Sender = (*sender)(nil)
