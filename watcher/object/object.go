// Package object is one cluster object as the watcher carries it: the raw JSON the apiserver sent, edited at the byte
// level, plus the few metadata fields the pipeline needs. Nothing here decodes an object into Go maps.
package object

import (
	"log/slog"

	"github.com/watchbench/watchbench/internal/pack"
)

// Key names an object within its cluster. Namespace is empty for a cluster-scoped kind.
type Key struct {
	Kind, Namespace, Name string
}

// String is kind/namespace/name, or kind/name in the cluster scope.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + "/" + k.Name
	}
	return k.Kind + "/" + k.Namespace + "/" + k.Name
}

// Object is one cluster object. It is immutable: holders may keep it, and nobody may write to Raw. Key and UID share no
// memory with Raw, so that a kept key does not keep an object.
type Object struct {
	Key Key
	UID string
	// ResourceVersion is the number behind metadata.resourceVersion, comparable within one resource type (Kubernetes
	// 1.35). 0: the server sent none or one that is not a number.
	ResourceVersion uint64
	// Raw is the whole object as one compact JSON value, managedFields stripped and masked fields removed. It is nil
	// while the object is packed: read JSON() instead.
	Raw []byte

	packed pack.Text // compressed, instead of Raw
}

// With returns an object of the same identity and version with other content, which it keeps.
func (o *Object) With(raw []byte) *Object {
	return &Object{Key: o.Key, UID: o.UID, ResourceVersion: o.ResourceVersion, Raw: raw}
}

// Size is the number of bytes that the object's content takes in memory.
func (o *Object) Size() int { return len(o.Raw) + o.packed.Size() }

// String names the object; its content is never printed (G13).
func (o *Object) String() string {
	if o == nil {
		return "<nil>"
	}
	return o.Key.String()
}

// LogValue makes slog print the key instead of the content.
func (o *Object) LogValue() slog.Value { return slog.StringValue(o.String()) }

var _ slog.LogValuer = (*Object)(nil)
