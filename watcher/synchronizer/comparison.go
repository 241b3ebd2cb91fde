package synchronizer

import (
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// comparison finds what differs between storage and a cluster, for the Synchronizer and for
// an Audit. It changes neither.
type comparison struct {
	cfg     Config
	set     Settings // Cache and Pipeline are reached through cluster
	cluster cluster
	limit   *rate.Limiter
	listing chan struct{} // size Concurrency: a token per kind being read
	// due reports whether a record of a kind with n objects is to be read whole although its
	// state is as expected; nil: never.
	due func(k object.Key, n int) bool
	// audits has all leftovers named, also those that cannot be removed, and pages show when
	// rows were written.
	audits bool
}

// cluster says what storage should hold, with methods of Cache and Pipeline, and one more.
type cluster interface {
	ExpectedKeys(kind string) []object.Key
	Expectation(k object.Key) (Expectation, bool)
	ClusterScoped(kind string) bool
	Trace(kind string) (touched func(object.Key) bool, end func())
	// Holds reports whether a whole record equals the expected object, or none is expected.
	Holds(k object.Key, record []byte) bool
}

// row is the state of a record.
type row struct {
	found   bool
	uid     string
	version uint64 // 0: none, or no number
	updated int64  // Unix seconds, 0: not known
}

func rowOf(rec *storage.Record) row {
	m, _ := object.Scan(rec.Data) // a broken record has no version
	r := row{found: true, uid: strings.Clone(m.UID), version: m.Version()}
	if at, err := time.Parse(time.RFC3339, rec.Updated); err == nil {
		r.updated = at.Unix()
	}
	return r
}

// same reports whether two rows are the same state.
func (r row) same(o row) bool { return r.found == o.found && r.uid == o.uid && r.version == o.version }

func newComparison(cfg Config, set Settings, c cluster) comparison {
	return comparison{
		cfg: cfg, set: set, cluster: c,
		limit:   rate.NewLimiter(rate.Limit(cfg.QPS), cfg.Concurrency),
		listing: make(chan struct{}, cfg.Concurrency),
	}
}

// cacheSide is the cluster as the watcher has it.
type cacheSide struct {
	Cache
	pipeline Pipeline
}

// Trace implements cluster.
func (c cacheSide) Trace(kind string) (touched func(object.Key) bool, end func()) {
	return c.pipeline.Trace(kind)
}

// Holds implements cluster.
func (c cacheSide) Holds(k object.Key, record []byte) bool {
	o, expected := c.Expected(k)
	return !expected || Same(k.Kind, record, o.JSON())
}
