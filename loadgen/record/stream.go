package record

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// The pauses after a failure, doubled from one to the next, as a reflector's.
	leastPause = 800 * time.Millisecond
	mostPause  = 30 * time.Second
	// leastWatch is how long a watch has to last that shows nothing: a server or proxy that ends each at once is not to
	// be asked without a pause.
	leastWatch = time.Second
	// hopeless is how many watches in a row may be refused before the resource is listed anew: the version may be one
	// that the cluster no longer knows, or never knew.
	hopeless = 5
)

// live identifies the state of an object that exists.
type live struct {
	uid, version string
	round        uint32 // of the list that saw it last
}

type stream struct {
	client   rest.Interface
	out      func(Frame) error
	metadata bool // objects are their metadata alone
	now      func() time.Duration
	say      func(format string, args ...any)
	masker   *masker // nil: nothing is masked
	resource Resource
	index    int

	objects map[string]live // by namespace/name
	round   uint32          // lists begun
	version string          // of the last event; "" before a list

	counts counts
}

// counts may be read while the stream runs.
type counts struct {
	listed, events, gaps, live atomic.Int64
	version                    atomic.Pointer[string]
	down                       atomic.Bool // the last request failed
}

var errShort = errors.New("the watch ended at once")

// writeError is an error of the trace, after which nothing can be recorded.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// run returns nil when ctx ends.
func (s *stream) run(ctx context.Context) error {
	pause, failures := leastPause, 0
	for ctx.Err() == nil {
		var err error
		listing := s.version == ""
		if listing {
			err = s.list(ctx)
		} else {
			before, began := s.counts.events.Load(), time.Now()
			err = s.watch(ctx)
			switch {
			case s.counts.events.Load() > before:
				pause, failures = leastPause, 0
			case err == nil && time.Since(began) < leastWatch:
				err = errShort
			}
		}
		s.counts.down.Store(err != nil && ctx.Err() == nil || s.counts.down.Load())
		var broken writeError
		var status apierrors.APIStatus
		switch {
		case ctx.Err() != nil:
		case err == nil:
			pause, failures = leastPause, 0
			continue
		case errors.As(err, &broken):
			return broken.error
		case refused(err) && listing && s.round == 1:
			return fmt.Errorf("list %s: %w", s.resource, err)
		case refused(err) && s.metadata: // a witness would miss what comes and goes, and nobody would know
			return fmt.Errorf("follow %s: %w", s.resource, err)
		case expired(err):
			s.say("%s: events are missing, listing again: %v", s.resource, err)
			s.version = ""
			if !listing {
				continue
			}
		default:
			if failures++; errors.As(err, &status) && failures >= hopeless {
				s.version, failures = "", 0
			}
			s.say("%s: trying again: %v", s.resource, err)
		}
		_ = lifecycle.Pause(ctx, pause/2+rand.N(pause/2))
		pause = min(2*pause, mostPause)
	}
	return nil
}

// list writes the objects that are there: all of them the first time, later what differs from what is known.
func (s *stream) list(ctx context.Context) error {
	first := s.round == 0
	s.round++
	if !first {
		s.counts.gaps.Add(1)
		if err := s.append(Frame{Type: Gap}); err != nil {
			return err
		}
	}
	for token := ""; ; {
		p, err := list(ctx, s.client, s.resource, s.metadata, token)
		if err != nil {
			return err
		}
		for _, item := range p.items {
			if err := s.listed(item, first); err != nil {
				return err
			}
		}
		if token = p.continued; token == "" {
			return s.complete(p.version)
		}
	}
}

func (s *stream) listed(item []byte, first bool) error {
	key, now, err := identify(item)
	if err != nil {
		return err
	}
	now.round = s.round
	was, known := s.objects[key]
	s.objects[key] = now
	s.counts.listed.Add(1)
	s.counts.live.Store(int64(len(s.objects)))
	f := Frame{Type: Modified, Inferred: true}
	switch {
	case first:
		f = Frame{Type: Initial}
	case known && was.uid == now.uid && was.version == now.version:
		return nil
	case known && was.uid != now.uid: // deleted and created anew
		if err := s.gone(key, was, now.version); err != nil {
			return err
		}
		f.Type = Added
	case !known:
		f.Type = Added
	}
	if jsonscan.Lookup(item, "kind") == nil {
		item = s.typed(item)
	}
	return s.object(f, item)
}

// typed returns an item of a list with the apiVersion and kind that items lack.
func (s *stream) typed(item []byte) []byte {
	return append(kubeapi.Typed([]byte("{"), s.resource.APIVersion(), s.resource.Kind), item[1:]...)
}

func (s *stream) gone(key string, was live, version string) error {
	namespace, name := cutKey(key)
	b := append([]byte(`{"metadata":{"name":`), jsonscan.AppendString(nil, name)...)
	if namespace != "" {
		b = append(append(b, `,"namespace":`...), jsonscan.AppendString(nil, namespace)...)
	}
	b = append(append(b, `,"uid":`...), jsonscan.AppendString(nil, was.uid)...)
	b = append(append(b, `,"resourceVersion":`...), jsonscan.AppendString(nil, version)...)
	return s.object(Frame{Type: Deleted, Inferred: true}, s.typed(append(b, "}}"...)))
}

// complete ends a list: what it did not show is gone.
func (s *stream) complete(version string) error {
	for key, was := range s.objects {
		if was.round == s.round {
			continue
		}
		if err := s.gone(key, was, version); err != nil {
			return err
		}
		delete(s.objects, key)
	}
	s.counts.live.Store(int64(len(s.objects)))
	s.at(version)
	return s.append(Frame{Type: Synced, ResourceVersion: version})
}

func (s *stream) watch(ctx context.Context) error {
	return s.events(ctx, func(e event) error {
		switch e.Type {
		case Bookmark:
			if err := s.object(Frame{Type: e.Type}, e.Object); err != nil {
				return err
			}
			version := jsonscan.Unquote(jsonscan.Lookup(e.Object, "metadata", "resourceVersion"))
			if version == "" {
				return errors.New("a bookmark without a resourceVersion")
			}
			s.at(version)
			return nil
		case Added, Modified, Deleted:
		default:
			return fmt.Errorf("the watch sent an event of type %q", e.Type)
		}
		key, now, err := identify(e.Object)
		if err != nil {
			return err
		}
		if err := s.object(Frame{Type: e.Type}, e.Object); err != nil {
			return err
		}
		if e.Type == Deleted {
			delete(s.objects, key)
		} else {
			now.round = s.round
			s.objects[key] = now
		}
		s.counts.events.Add(1)
		s.counts.live.Store(int64(len(s.objects)))
		s.at(now.version)
		return nil
	})
}

func (s *stream) at(version string) {
	s.version = version
	s.counts.version.Store(&version)
}

// identify returns the key of an object and what has to be known of it.
func identify(object []byte) (key string, now live, err error) {
	meta := jsonscan.Lookup(object, "metadata")
	for k, v := range jsonscan.Members(meta) {
		switch string(k) {
		case `"name"`:
			key += jsonscan.Unquote(v)
		case `"namespace"`:
			key = jsonscan.Unquote(v) + "/" + key
		case `"uid"`:
			now.uid = jsonscan.Unquote(v)
		case `"resourceVersion"`:
			now.version = jsonscan.Unquote(v)
		}
	}
	if key == "" || strings.HasSuffix(key, "/") || now.version == "" {
		return "", live{}, errors.New("the apiserver sent an object without a name or a resourceVersion")
	}
	return key, now, nil
}

// object writes a frame with an object, without what must not be written.
func (s *stream) object(f Frame, object []byte) (err error) {
	if f.Object = object; s.masker == nil {
		return s.append(f)
	}
	gvk := schema.FromAPIVersionAndKind(s.resource.APIVersion(), s.resource.Kind)
	if f.Object, err = s.masker.object(gvk, object); err != nil {
		return writeError{fmt.Errorf("an object of %s: %w", s.resource, err)} // it will not be another one next time
	}
	return s.append(f)
}

func (s *stream) append(f Frame) error {
	f.At, f.Resource = s.now(), s.index
	if err := s.out(f); err != nil {
		return writeError{err}
	}
	return nil
}
