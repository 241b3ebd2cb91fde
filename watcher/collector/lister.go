package collector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/jsonscan"
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

// Identity names one version of an object.
type Identity struct {
	Key             object.Key
	UID             string
	ResourceVersion uint64    // 0: the server sent none, or no number
	Created         time.Time // zero: unknown
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

// RawMetadata calls each for every object of a kind, in the apiserver's order, with its raw
// metadata, valid until each returns. It returns the version of the list; if that expires
// before the last page, the remaining pages are of a later one. It stops at the first error of
// each and at an object that cannot be decoded.
func (l *Lister) RawMetadata(
	ctx context.Context, r Resource, each func(id Identity, raw []byte) error,
) (version string, err error) {
	return l.pages(ctx, r, acceptMetadata, metav1.ListOptions{}, func(b []byte, m *object.Meta, bad error) error {
		if bad != nil {
			return unread(r, b, m, bad)
		}
		return each(identity(r, b, m), m.Whole.Of(b))
	})
}

// Objects is RawMetadata of whole objects, as the Collector would cache them. One that a mask
// cannot be applied to has no content.
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

// Get reads one object as the Collector would cache it; r's label selector applies. If there is
// none, apierrors.IsNotFound holds for the error.
func (l *Lister) Get(ctx context.Context, r Resource, key object.Key) (*object.Object, error) {
	it, _, err := l.item(ctx, r, nameOf(key))
	switch {
	case err != nil:
		return nil, err
	case it == nil:
		return nil, fmt.Errorf("get %s: %w", key, apierrors.NewNotFound(r.groupResource(), key.Name))
	}
	return it.obj, nil
}

// item reads one object, nil if there is none, with a list, which needs no further right and
// honours r's selector. A server may ignore the field selector, so other names are skipped. The
// version is the list's, 0 if that is opaque.
func (l *Lister) item(ctx context.Context, r Resource, n name) (found *item, version uint64, err error) {
	one := *l
	one.config.Namespace = n.namespace
	d := l.decoder(r)
	o := metav1.ListOptions{FieldSelector: "metadata.name=" + fields.EscapeValue(n.name)}
	text, err := one.pages(ctx, r, acceptJSON, o, func(b []byte, m *object.Meta, bad error) error {
		if bad == nil && (m.Name != n.name || m.Namespace != n.namespace) {
			return nil
		}
		it := d.readable(b, m, bad)
		switch {
		case it.bad == nil:
			found = it
		case covers(map[name]bool{nameOf(it.obj.Key): true}, n):
			return unread(r, b, m, it.bad.err)
		}
		return nil
	})
	version, _ = strconv.ParseUint(text, 10, 64)
	return found, version, err
}

var errUnread = errors.New("cannot be read")

// unread is the error for an object that cannot be decoded.
func unread(r Resource, b []byte, m *object.Meta, bad error) error {
	it := newUnreadable(r.Key(), m.Whole.Of(b), bad)
	return fmt.Errorf("object %q of namespace %q %w: %w", it.obj.Key.Name, it.obj.Key.Namespace, errUnread, it.bad.err)
}

func (l *Lister) decoder(r Resource) decoder {
	return decoder{kind: r.Key(), recipe: l.config.recipe(r), known: func(name) *object.Object { return nil }}
}

func identity(r Resource, b []byte, m *object.Meta) Identity {
	id := Identity{
		Key: object.Key{Kind: r.Key(), Namespace: strings.Clone(m.Namespace), Name: strings.Clone(m.Name)},
		UID: strings.Clone(m.UID), ResourceVersion: m.Version(),
	}
	_ = json.Unmarshal(jsonscan.Lookup(m.Metadata.Of(b), "creationTimestamp"), &id.Created) // else zero
	return id
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
