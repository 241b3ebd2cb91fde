package collector

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
)

// unreadable is why an object cannot be decoded.
type unreadable struct {
	index int // in its list, from 1; 0: of a watch
	err   error
}

// newUnreadable makes an item of JSON that cannot be decoded as an object of the kind; err is the
// decoder's. The error names a bad field without its value, which may be secret.
func newUnreadable(kind string, raw []byte, err error) *item {
	metadata := jsonscan.Lookup(raw, "metadata")
	if !jsonscan.IsObject(metadata) {
		err = errors.New("its metadata is not a JSON object")
	}
	for _, key := range []string{"name", "namespace", "uid", "resourceVersion"} {
		if v := jsonscan.Lookup(metadata, key); v != nil && !jsonscan.IsString(v) && string(v) != "null" {
			err = fmt.Errorf("its metadata.%s is not a string", key)
		}
	}
	text := func(key string) string { return jsonscan.Unquote(jsonscan.Lookup(metadata, key)) }
	o := &object.Object{Key: object.Key{Kind: kind, Namespace: text("namespace"), Name: text("name")}}
	return &item{obj: o, bad: &unreadable{err: err}}
}

// mostNamed bounds the unreadable objects of a kind that the log names; more are only counted.
const mostNamed = 20

// skip records an object that cannot be decoded. The caller holds order.
func (s *store) skip(it *item) {
	s.drop(ReasonUnreadable)
	if s.unread == nil {
		s.unread, s.named = map[name]bool{}, map[name]bool{}
	}
	key, n := it.obj.Key, nameOf(it.obj.Key)
	s.skipped.Add(1)
	s.unread[n] = true
	if key.Name == "" {
		n.name, key.Name = itemMeta{i: it}.GetName(), "(no readable name)"
	}
	if s.named[n] || len(s.named) == mostNamed {
		return
	}
	s.named[n] = true
	attrs := []any{"object", key.String(), "error", it.bad.err}
	if it.bad.index > 0 {
		attrs = append(attrs, "item", it.bad.index)
	}
	s.logger.Warn("skipping an object that cannot be decoded; its row stays", attrs...)
}

// takeUnread removes the unreadable objects from a list, and replaces those recorded before with
// them. The caller holds order.
func (s *store) takeUnread(list []any) []any {
	clear(s.unread)
	place := 0
	return slices.DeleteFunc(list, func(obj any) bool {
		place++
		it := obj.(*item)
		if it.bad == nil {
			return false
		}
		it.bad.index = cmp.Or(it.bad.index, place)
		s.metrics.received.Inc()
		s.skip(it)
		return true
	})
}

// covers reports whether an object may be one of the unreadable: by its name, or because one
// without a name is in its namespace or, without that too, in its kind.
func covers(unread map[name]bool, n name) bool {
	return unread[n] || unread[name{namespace: n.namespace}] || unread[name{}]
}

// allRead forgets unreadable objects without a name after a comparison that decoded every
// object, unless one was skipped since it began.
func (s *store) allRead(skipped int64) {
	s.order.Lock()
	defer s.order.Unlock()
	if s.skipped.Load() == skipped {
		maps.DeleteFunc(s.unread, func(n name, _ bool) bool { return n.name == "" })
	}
}

// mayBeUnread reports whether an object that is not cached may exist and be unreadable. The caller holds order.
func (s *store) mayBeUnread(key object.Key) bool {
	n := nameOf(key)
	return covers(s.unread, n) && s.peek(n) == nil && s.wanted(key)
}

// Unreadable reports whether an object that is not cached may exist and be unreadable, so that
// it must not be taken for deleted.
func (c *Collector) Unreadable(key object.Key) bool {
	k := c.kind(key.Kind)
	if k == nil {
		return false
	}
	k.store.order.Lock()
	defer k.store.order.Unlock()
	return k.store.mayBeUnread(key)
}
