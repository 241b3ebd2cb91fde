package synchronizer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/watchbench/watchbench/watcher/object"
)

// fields are what a comparison needs of a record: all of the object, since a
// record that was edited in place keeps its version.
const fields = "namespace,resourceName,data"

// kind compares one kind and repairs what is confirmed to differ. Of open objects
// something is on its way, so that nothing could be said.
func (s *Synchronizer) kind(ctx context.Context, kind string) (repaired, open int, err error) {
	suspects, err := s.suspects(ctx, kind)
	if err != nil {
		return 0, 0, err
	}
	failed := 0 // reads in a row
	for _, k := range suspects {
		if s.set.Pipeline.Pending(k) {
			open++
			continue
		}
		differs, rerr := s.confirm(ctx, k)
		if errors.Is(rerr, errOpen) {
			open++
			continue
		}
		if rerr != nil {
			err = cmp.Or(err, rerr)
			if failed++; failed == mostFailures || ctx.Err() != nil {
				return repaired, open, err
			}
			continue // the others are not held up
		}
		failed = 0
		switch {
		case !differs:
			continue
		case s.set.Pipeline.Pending(k):
			open++
			continue
		}
		if rerr := s.set.Cache.Repair(ctx, k); rerr != nil {
			return repaired, open, cmp.Or(err, rerr)
		}
		repaired++
		s.metrics.repairs.WithLabelValues(kind).Inc()
		s.set.Logger.Info("storage differs, repaired", "object", k)
	}
	return repaired, open, err
}

// mostFailures is how many reads in a row may fail before storage is taken for down and
// the kind is left to the next round.
const mostFailures = 3

// suspects pages through what storage holds of a kind and names what seems to
// differ: changed records and leftovers as they come, then what is missing. The
// list in the cluster scope has no namespace condition (contract §1.5), so it
// finds the leftovers of namespaces that are gone.
func (s *Synchronizer) suspects(ctx context.Context, kind string) ([]object.Key, error) {
	var out []object.Key
	seen := map[object.Key]bool{}
	for offset := 0; ; offset += s.cfg.PageSize {
		if err := s.limit.Wait(ctx); err != nil {
			return nil, err
		}
		page, err := s.set.Storage.List(ctx, kind, s.cfg.Namespace, fields, s.cfg.PageSize, offset)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			k := object.Key{Kind: kind, Namespace: r.Namespace, Name: r.Name}
			if k.Namespace == "" {
				k.Namespace = s.cfg.Namespace
			}
			if seen[k] {
				continue
			}
			seen[k] = true
			if o, expected := s.set.Cache.Expected(k); !expected || !same(r.Data, o.JSON()) {
				out = append(out, k)
			}
		}
		if len(page) < s.cfg.PageSize {
			break
		}
	}
	for _, k := range s.set.Cache.ExpectedKeys(kind) {
		if !seen[k] {
			out = append(out, k)
		}
	}
	return out, nil
}

// errOpen says that something of an object was on its way, or came, while its record was
// read. It may have reached storage since, and nobody waits for it any more: the record
// only looks old.
var errOpen = errors.New("something of the object was on its way while its record was read")

// confirm reads the one record and compares it with the cache as it is now.
func (s *Synchronizer) confirm(ctx context.Context, k object.Key) (differs bool, err error) {
	if err := s.limit.Wait(ctx); err != nil {
		return false, err
	}
	before, was := s.set.Cache.Expected(k)
	if s.set.Pipeline.Pending(k) {
		return false, errOpen
	}
	rec, found, err := s.set.Storage.Get(ctx, k)
	if err != nil {
		return false, err
	}
	o, expected := s.set.Cache.Expected(k)
	if was != expected || expected && (before.UID != o.UID || before.ResourceVersion != o.ResourceVersion) {
		return false, errOpen
	}
	if !expected || !found {
		return expected != found, nil
	}
	return !same(rec.Data, o.JSON()), nil
}

// same compares two objects without regard to the order of keys, which a storage
// need not keep.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	va, err := decode(a)
	if err != nil {
		return false
	}
	vb, err := decode(b)
	return err == nil && reflect.DeepEqual(va, vb)
}

func decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // 64-bit numbers stay exact
	err = dec.Decode(&v)
	return v, err
}
