// Package object is one cluster object as the watcher carries it: the raw JSON the apiserver sent, edited at the byte
// level, plus the few metadata fields the pipeline needs. Nothing here decodes an object into Go maps.
package object

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
