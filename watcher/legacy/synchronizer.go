package legacy

import (
	"context"
	"log/slog"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// Numbers of the original's synchronizer (contract §1.5, §3).
const (
	syncPause     = 30 * time.Second // before the first look at the kinds, and between two
	syncPageSize  = 500
	serverCap     = 3000 // what storage lists of the cluster scope at most
	syncField     = "resourceName"
	kindNamespace = "Namespace"
)

// Lister reads what storage holds.
type Lister interface {
	List(ctx context.Context, kind, namespace, fields string, limit, offset int) ([]storage.Record, error)
}

// SyncCache is the collector as the Synchronizer needs it.
type SyncCache interface {
	Cache
	Resources() []collector.Resource
	KindSynced(kind string) bool
	// ExpectedKeys are the cached objects of a kind that the filters let pass.
	ExpectedKeys(kind string) []object.Key
	// Repair enqueues the latest state of an object, or its deletion.
	Repair(ctx context.Context, k object.Key) error
}

// Synchronizer compares the names of each kind with storage's, once.
type Synchronizer struct {
	namespace string // the one that is watched; "" is all
	storage   Lister
	cache     SyncCache
	logger    *slog.Logger
}

// NewSynchronizer starts nothing.
func NewSynchronizer(namespace string, l Lister, c SyncCache, logger *slog.Logger) *Synchronizer {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Synchronizer{namespace: namespace, storage: l, cache: c, logger: logger}
}

// Run compares each kind when it has synced, first after 30 s, and then idles until ctx
// ends.
func (s *Synchronizer) Run(ctx context.Context) error {
	done := map[string]bool{}
	for lifecycle.Pause(ctx, syncPause) == nil {
		if s.round(ctx, done) {
			<-ctx.Done()
		}
	}
	return nil
}

// round compares the synced kinds that are not done, and reports whether all are.
func (s *Synchronizer) round(ctx context.Context, done map[string]bool) bool {
	namespaces, known := s.namespaces()
	if !known {
		return false
	}
	all := true
	for _, r := range s.cache.Resources() {
		switch kind := r.Key(); {
		case done[kind]:
		case s.cache.KindSynced(kind):
			s.kind(ctx, r, namespaces)
			done[kind] = true
		default:
			all = false
		}
	}
	return all
}

// namespaces are those whose records are listed: none where the kind Namespace is not
// watched, so that every namespaced object seems to be missing. known is false before
// they are synced.
func (s *Synchronizer) namespaces() (names []string, known bool) {
	if s.namespace != "" {
		return []string{s.namespace}, true
	}
	for _, r := range s.cache.Resources() {
		if r.Key() == kindNamespace {
			if !s.cache.KindSynced(kindNamespace) {
				return nil, false
			}
			for _, k := range s.cache.ExpectedKeys(kindNamespace) {
				names = append(names, k.Name)
			}
		}
	}
	return names, true
}

// kind enqueues what only one side has. Content is not compared.
func (s *Synchronizer) kind(ctx context.Context, r collector.Resource, namespaces []string) {
	kind := r.Key()
	stored := map[object.Key]bool{}
	if !r.Namespaced {
		namespaces = []string{""}
	}
	for _, ns := range namespaces {
		keys, err := s.list(ctx, kind, ns)
		switch {
		case err == nil:
			for _, k := range keys {
				stored[k] = true
			}
		case r.Namespaced:
			s.logger.Warn("namespace not listed, its objects seem to be missing", "kind", kind, "namespace", ns, "error", err)
		default:
			s.logger.Warn("kind not compared with storage", "kind", kind, "error", err)
			return
		}
	}
	missing, left := 0, 0
	for _, k := range s.cache.ExpectedKeys(kind) {
		if !stored[k] {
			missing++
			s.repair(ctx, k)
		}
	}
	if kind != kindEvent {
		for k := range stored {
			if _, cached := s.cache.Get(k); !cached {
				left++
				s.repair(ctx, k)
			}
		}
	}
	s.logger.Info("compared the names with storage", "kind", kind, "missing", missing, "left over", left)
}

// list returns the keys of one namespace or of the cluster scope, which has one page.
func (s *Synchronizer) list(ctx context.Context, kind, namespace string) (keys []object.Key, err error) {
	page := syncPageSize
	if namespace == "" {
		page = serverCap
	}
	for offset := 0; ; offset += page {
		records, err := s.storage.List(ctx, kind, namespace, syncField, page, offset)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			keys = append(keys, object.Key{Kind: kind, Namespace: namespace, Name: r.Name})
		}
		if len(records) < page || namespace == "" {
			return keys, nil
		}
	}
}

func (s *Synchronizer) repair(ctx context.Context, k object.Key) {
	if err := s.cache.Repair(ctx, k); err != nil && ctx.Err() == nil {
		s.logger.Warn("object not repaired", "object", k.String(), "error", err)
	}
}
