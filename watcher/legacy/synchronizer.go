package legacy

import (
	"context"
	"log/slog"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
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
	kindNamespace = "Namespace"
)

// synchronizer compares the names of each kind with storage's, once.
type synchronizer struct {
	namespace string // the one that is watched; "" is all
	storage   *storage.Client
	cache     *collector.Collector
	logger    *slog.Logger
}

// Run compares each kind when it has synced, first after 30 s, and then idles until ctx ends.
func (s *synchronizer) Run(ctx context.Context) error {
	done := map[string]bool{}
	for lifecycle.Pause(ctx, syncPause) == nil {
		if s.round(ctx, done) {
			<-ctx.Done()
		}
	}
	return nil
}

// round compares the synced kinds that are not done, and reports whether all are.
func (s *synchronizer) round(ctx context.Context, done map[string]bool) bool {
	// Where the kind Namespace is not watched none is listed, so that every namespaced object seems to
	// be missing.
	namespaces := []string{s.namespace}
	if s.namespace == "" {
		if s.cache.Collected(kindNamespace) && !s.cache.KindSynced(kindNamespace) {
			return false
		}
		namespaces = nil
		for _, k := range s.cache.ExpectedKeys(kindNamespace) {
			namespaces = append(namespaces, k.Name)
		}
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

// kind enqueues what only one side has. Content is not compared.
func (s *synchronizer) kind(ctx context.Context, r collector.Resource, namespaces []string) {
	kind := r.Key()
	stored := map[object.Key]bool{}
	if !r.Namespaced {
		namespaces = []string{""}
	}
	for _, ns := range namespaces {
		if err := s.list(ctx, kind, ns, stored); err != nil {
			s.logger.Warn("names not listed, the objects seem to be missing", "kind", kind, "namespace", ns, "error", err)
			if !r.Namespaced {
				return
			}
		}
	}
	missing, left := 0, 0
	for _, k := range s.cache.ExpectedKeys(kind) {
		if !stored[k] {
			missing++
			_ = s.cache.Repair(ctx, k) // ends only with the program
		}
	}
	for k := range stored {
		if _, cached := s.cache.Get(k); !cached && kind != bcsapi.KindEvent {
			left++
			_ = s.cache.Repair(ctx, k)
		}
	}
	s.logger.Info("compared the names with storage", "kind", kind, "missing", missing, "left over", left)
}

// list adds the keys of one namespace or of the cluster scope, which has one page.
func (s *synchronizer) list(ctx context.Context, kind, namespace string, to map[object.Key]bool) error {
	page := syncPageSize
	if namespace == "" {
		page = serverCap
	}
	for offset := 0; ; offset += page {
		records, err := s.storage.List(ctx, kind, namespace, "resourceName", page, offset)
		if err != nil {
			return err
		}
		for _, r := range records {
			to[object.Key{Kind: kind, Namespace: namespace, Name: r.Name}] = true
		}
		if len(records) < page || namespace == "" {
			return nil
		}
	}
}
