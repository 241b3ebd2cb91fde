package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/object"
)

const (
	// pageSize is kubectl's.
	pageSize = 500
	// pagePause is the least time between two pages.
	pagePause = 50 * time.Millisecond
)

// pages reads the metadata of a kind straight from the apiserver, one page in memory at a time with pauses between
// them; with limit 1 that of the first object only. It is a consistent read, of the version that is returned; if that
// expires before the last page, the remaining pages are of a later one.
func (v *verifier) pages(ctx context.Context, r Resource, limit int64, pause time.Duration,
	each func(b []byte, m *object.Meta, bad error) error) (version string, err error) {
	s := &source{
		conn: v.source.conn, resource: r, namespace: v.source.namespace, idle: v.source.idle,
		metadata: true, life: newLife(func() {}), logger: v.source.logger,
		decoder: decoder{each: each, shard: v.source.idle.Shard, passed: func() {}},
	}
	o := metav1.ListOptions{Limit: cmp.Or(limit, pageSize)}
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
		if o.Continue = list.Continue; o.Continue == "" || limit == 1 {
			return version, nil
		}
		if err := v.sleep(ctx, pause); err != nil {
			return "", err
		}
	}
}

// later returns the token for continuing an expired list at the current version, "" if the apiserver gave none.
func later(err error) string {
	var answer apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &answer) {
		return ""
	}
	return answer.Status().Continue
}
