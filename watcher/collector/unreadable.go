package collector

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/outage"
)

// unreadable is why an object cannot be read.
type unreadable struct {
	index int // in its list, from 1; 0: not known, or of a watch
	err   error
}

// newUnreadable makes the item of JSON that is no object of the kind; err is the decoder's.
func newUnreadable(kind string, raw []byte, err error) *item {
	text := func(key string) string { return jsonscan.Unquote(jsonscan.Lookup(raw, "metadata", key)) }
	return &item{
		obj: &object.Object{Key: object.Key{Kind: kind, Namespace: text("namespace"), Name: text("name")}},
		bad: &unreadable{err: whyUnreadable(raw, err)},
	}
}

// whyUnreadable names the field that is wrong, without its value: that may be secret.
func whyUnreadable(raw []byte, err error) error {
	metadata := jsonscan.Lookup(raw, "metadata")
	switch {
	case !jsonscan.IsObject(raw):
		return errors.New("it is no JSON object")
	case !jsonscan.IsObject(metadata):
		return errors.New("its metadata is no JSON object")
	}
	for _, key := range []string{"name", "namespace", "uid", "resourceVersion"} {
		if v := jsonscan.Lookup(metadata, key); v != nil && !jsonscan.IsString(v) && string(v) != "null" {
			return fmt.Errorf("its metadata.%s is no string", key)
		}
	}
	return err
}

func (i *item) describe() string {
	key := i.obj.Key
	if key.Name == "" {
		key.Name = "(no readable name)"
	}
	if i.bad.index > 0 {
		return fmt.Sprintf("%s (item %d)", key, i.bad.index)
	}
	return key.String()
}

// unreadables are the objects of a kind that are there and cannot be read, by name. One whose
// name cannot be read either has none, and may be any object of its namespace or, where
// that is missing too, of the kind.
type unreadables struct {
	told map[name]bool // whether the log has named it
	room *rate.Limiter
}

func (u *unreadables) add(n name) {
	if u.told == nil {
		u.told = map[name]bool{}
	}
	if u.room == nil {
		u.room = outage.NewRoom()
	}
	u.told[n] = u.told[n]
}

func (u *unreadables) remove(n name) { delete(u.told, n) }

// covers reports whether the object of that name may be one of them.
func (u *unreadables) covers(n name) bool {
	for _, n := range []name{n, {namespace: n.namespace}, {}} {
		if _, is := u.told[n]; is {
			return true
		}
	}
	return false
}

// takeUnread removes from a list what cannot be read and notes that instead of what was noted
// before. The caller holds order.
func (s *store) takeUnread(list []any) []any {
	var bad []*item
	rest := list[:0]
	for i, obj := range list {
		it := obj.(*item)
		if it.bad == nil {
			rest = append(rest, obj)
			continue
		}
		if it.bad.index == 0 {
			it.bad.index = i + 1
		}
		s.metrics.received.Inc()
		s.drop(ReasonUnreadable)
		bad = append(bad, it)
	}
	clear(list[len(rest):])
	slices.SortFunc(bad, func(a, b *item) int { return a.bad.index - b.bad.index })
	before := s.unread.told
	s.unread.told = nil
	for _, it := range bad {
		n := nameOf(it.obj.Key)
		s.unread.add(n)
		s.unread.told[n] = before[n]
	}
	s.warnUnread(bad)
	return rest
}

// mostUnread is how many unreadable objects one line names.
const mostUnread = 10

// warnUnread names unreadable objects, each once until it can be read or is gone. The caller
// holds order.
func (s *store) warnUnread(bad []*item) {
	var names []string
	var first error
	for _, it := range bad {
		if s.unread.told[nameOf(it.obj.Key)] {
			continue
		}
		if names = append(names, it.describe()); first == nil {
			first = it.bad.err
		}
	}
	if len(names) == 0 || !s.unread.room.Allow() {
		return
	}
	for _, it := range bad {
		s.unread.told[nameOf(it.obj.Key)] = true
	}
	s.logger.Warn("skipping objects that cannot be read, what is stored of them stays",
		"objects", strings.Join(names[:min(len(names), mostUnread)], ", "), "count", len(names), "error", first)
}

// Unreadable reports whether an object that is not cached may be one that is there and cannot
// be read: then it is not known to be gone.
func (c *Collector) Unreadable(key object.Key) bool {
	k := c.kind(key.Kind)
	if k == nil {
		return false
	}
	k.store.order.Lock()
	defer k.store.order.Unlock()
	return k.store.mayBeUnread(key)
}

// mayBeUnread is Unreadable for who holds order.
func (s *store) mayBeUnread(key object.Key) bool {
	n := nameOf(key)
	return s.wanted(key) && s.peek(n) == nil && s.unread.covers(n)
}
