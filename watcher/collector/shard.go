package collector

import (
	"strings"

	"github.com/watchbench/watchbench/watcher/object"
)

// Holds reports whether an object belongs to the shard. An object that is made again under its name has another uid,
// and with that perhaps another shard: a row then has two writers, which storage must be able to tell apart. With
// ShardRows the name decides, so that a row has one writer, but no apiserver can filter.
func (c *Config) Holds(key object.Key, uid string) bool { return c.holds(key.Namespace, key.Name, uid) }

func (c *Config) holds(namespace, name, uid string) bool {
	switch {
	case c.Shard == nil:
		return true
	case c.ShardRows:
		return c.Shard.HoldsName(namespace, name)
	}
	return c.Shard.Holds(uid)
}

// selector is the parameter shardSelector, empty where the apiserver is not to filter.
func (c *Config) selector() string {
	if c.Shard == nil || c.ShardRows {
		return ""
	}
	return c.Shard.String()
}

// foreign is the check of objects that the apiserver shows: whether they are of another shard. Nil: none is.
func (c *Config) foreign(m *kindMetrics) func(*object.Meta) bool {
	if c.Shard == nil {
		return nil
	}
	return func(o *object.Meta) bool {
		if c.holds(o.Namespace, o.Name, o.UID) {
			return false
		}
		m.setSharded(false)
		return true
	}
}

// setSharded records whether the apiserver filters.
func (m *kindMetrics) setSharded(on bool) {
	if on {
		m.sharded.Set(1)
	} else {
		m.sharded.Set(0)
	}
}

// passing is the item of a watch event about an object of another shard. Only its version counts.
func passing(kind string, m *object.Meta) *item {
	it := &item{obj: &object.Object{Key: object.Key{Kind: kind}, ResourceVersion: m.Version()}, foreign: true}
	if it.obj.ResourceVersion == 0 {
		it.version = strings.Clone(m.ResourceVersion)
	}
	return it
}

// pass takes an event about an object of another shard. The caller holds order.
func (s *store) pass(it *item) {
	s.latest = max(s.latest, it.obj.ResourceVersion)
	s.drop(ReasonShard)
}

// skipped counts objects of a list that are of another shard.
func (s *source) skipped(n int) {
	if n > 0 { // else the series need not be there
		s.metrics.received.Add(float64(n))
		s.metrics.filtered[ReasonShard].Add(float64(n))
	}
}
