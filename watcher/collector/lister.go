package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

const (
	// acceptMetadata asks for the metadata of each object alone.
	acceptMetadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
	// pageSize is kubectl's.
	pageSize = 500
	// DefaultPagePause is the least time between two pages.
	DefaultPagePause = 50 * time.Millisecond
)

// Lister reads kinds straight from the apiserver, one page in memory at a time. All reads are
// consistent: what they return was true after they began. Retry-After is obeyed.
type Lister struct {
	// Pause is the least time between two pages of a list.
	Pause time.Duration

	conn   *connection
	config Config
	logger *slog.Logger
	// between waits between two pages.
	between func(context.Context, time.Duration) error
}

// NewLister makes a Lister with connections of its own. It uses Namespace, Masks,
// KeepManagedFields, ListIdle and ReadPace of the configuration.
func NewLister(client *rest.Config, c Config) (*Lister, error) {
	m, err := newMetrics(nil)
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	conn, err := connect(client, c, m)
	if err != nil {
		return nil, err
	}
	l := &Lister{Pause: DefaultPagePause, conn: conn, config: c, between: lifecycle.Pause}
	l.logger = slog.New(slog.DiscardHandler)
	return l, nil
}

// Close ends idle connections.
func (l *Lister) Close() { l.conn.closeIdle() }

// Objects calls each for every object of a kind, in the apiserver's order, as the Collector would cache
// them; one that a mask cannot be applied to has no content. It returns the version of the list; if that
// expires before the last page, the remaining pages are of a later one. It stops at the first error of each
// and at an object that cannot be decoded.
func (l *Lister) Objects(ctx context.Context, r Resource, each func(*object.Object) error) (version string, err error) {
	d := l.decoder(r)
	return l.pages(ctx, r, acceptJSON, metav1.ListOptions{}, func(b []byte, m *object.Meta, bad error) error {
		it := d.readable(b, m, bad)
		if it.bad != nil {
			return unread(r, b, m, it.bad.err)
		}
		return each(it.obj)
	})
}

// Version returns the version of a consistent read of one object of the kind. It drops r's
// selector, for which the apiserver might have to search all of etcd.
func (l *Lister) Version(ctx context.Context, r Resource) (string, error) {
	r.LabelSelector = ""
	return l.pages(ctx, r, acceptMetadata, metav1.ListOptions{Limit: 1},
		func([]byte, *object.Meta, error) error { return nil })
}

// unread is the error for an object that cannot be decoded.
func unread(r Resource, b []byte, m *object.Meta, bad error) error {
	it := newUnreadable(r.Key(), m.Whole.Of(b), bad)
	return fmt.Errorf("object %q of namespace %q cannot be read: %w", it.obj.Key.Name, it.obj.Key.Namespace, it.bad.err)
}

func (l *Lister) decoder(r Resource) decoder {
	return decoder{kind: r.Key(), recipe: l.config.recipe(r), known: func(name) *object.Object { return nil }}
}

func (l *Lister) source(r Resource, accept string) *source {
	return &source{
		conn: l.conn, resource: r, namespace: l.config.Namespace, accept: accept, idle: l.config,
		life: newLife(func() {}), logger: l.logger,
	}
}

// pages reads a list in pages, or only its first object with a limit of 1.
func (l *Lister) pages(
	ctx context.Context, r Resource, accept string, o metav1.ListOptions,
	each func(b []byte, m *object.Meta, bad error) error,
) (version string, err error) {
	s := l.source(r, accept)
	s.decoder.each = each
	one := o.Limit == 1
	o.Limit = cmp.Or(o.Limit, pageSize)
	for {
		list, err := s.page(ctx, o)
		if next := later(err); next != "" && next != o.Continue {
			o.Continue = next
			continue
		}
		if err != nil {
			return "", fmt.Errorf("list %s: %w", r, err)
		}
		if version == "" {
			version = list.ResourceVersion
		}
		if o.Continue = list.Continue; o.Continue == "" || one {
			return version, nil
		}
		if err := l.between(ctx, l.Pause); err != nil {
			return "", err
		}
	}
}

// later returns the token for continuing an expired list at the current version, "" if the
// apiserver gave none.
func later(err error) string {
	var answer apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &answer) {
		return ""
	}
	return answer.Status().Continue
}
