package collector

import (
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// Holds reports whether an object belongs to the shard. One that is made again under its name has another uid: in
// shards by uid a row of storage has several writers, which storage must be able to tell apart. By name or namespace it
// has one.
func (c *Config) Holds(key object.Key, uid string) bool {
	return c.Shard == nil || c.shard().Holds(key.Namespace, key.Name, uid)
}

func (c *Config) shard() kubeapi.Shard { return kubeapi.Shard{Range: *c.Shard, By: c.ShardBy} }

// selector is the parameter shardSelector, empty where the apiserver is not to filter.
func (c *Config) selector() string {
	if c.Shard == nil {
		return ""
	}
	return c.shard().String()
}

// foreign is the check of objects that the apiserver shows: whether they are of another shard. Nil: none is.
func (c *Config) foreign(m *kindMetrics) func(*object.Meta) bool {
	if c.Shard == nil {
		return nil
	}
	shard := c.shard()
	return func(o *object.Meta) bool {
		if shard.Holds(o.Namespace, o.Name, o.UID) {
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
