package record

import (
	"fmt"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// format is the highest that this version reads, and the one that it writes.
const format = 1

// Header says what was recorded, and where.
type Header struct {
	// Format is the file's format. Writers set it; 0 means the first, which had no number.
	Format int `json:"format,omitempty"`
	// Started is when the recording began, to which the times of the frames relate.
	Started time.Time `json:"started"`
	// ClusterVersion is the version of the apiserver, such as "v1.36.3".
	ClusterVersion string `json:"clusterVersion"`
	// Anonymised says that names and values are pseudonyms.
	Anonymised bool `json:"anonymised"`
	// Resources that were recorded; frames refer to them by index.
	Resources []Resource `json:"resources"`
}

// Resource is one kind of object, as discovery names it.
type Resource struct {
	Group      string `json:"group"` // "" for the core group
	Version    string `json:"version"`
	Name       string `json:"name"` // the plural in URLs, such as "pods"
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// APIVersion is the resource's group and version as objects name them, such as "apps/v1".
func (r Resource) APIVersion() string { return kubeapi.GroupVersion(r.Group, r.Version) }

// String is name.version.group, or only the name in the core group.
func (r Resource) String() string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Version + "." + r.Group
}

// key is unique in a trace: a replay serves it once.
func (r Resource) key() string { return kubeapi.ResourceKey(r.Group, r.Name) }

// Type says what a frame is.
type Type string

// Types of frames. Initial, Added, Modified, Deleted and Bookmark hold an object; Synced and Gap are marks.
const (
	Initial  Type = "INITIAL" // in the list with which the recording began
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"
	Bookmark Type = "BOOKMARK"
	Synced   Type = "SYNCED" // the list is complete, at ResourceVersion
	Gap      Type = "GAP"    // events are missing; a difference follows
)

// Frame is one event of a watch, one object of a list, or a mark.
type Frame struct {
	// At is the time since Header.Started.
	At time.Duration
	// Resource is the index in Header.Resources.
	Resource int
	Type     Type
	// Inferred marks what was not received as an event but found by comparing a new list with the last known state.
	Inferred bool
	// ResourceVersion of the list; Synced only.
	ResourceVersion string
	// Object is compact JSON with apiVersion and kind.
	Object []byte
}

// HoldsObject reports whether frames of this type have an object.
func (t Type) HoldsObject() bool {
	switch t {
	case Initial, Added, Modified, Deleted, Bookmark:
		return true
	}
	return false
}

// course counts frames; it holds writer and reader to what a replay relies on.
type course struct {
	resources []Resource
	last      time.Duration
	frames    int64
}

// take accepts the next frame, or says why it cannot stand here.
func (c *course) take(f *Frame) error {
	if f.Resource < 0 || f.Resource >= len(c.resources) {
		return fmt.Errorf("resource %d, the header names %d", f.Resource, len(c.resources))
	}
	switch {
	case f.At < c.last:
		return fmt.Errorf("time %s after %s", f.At, c.last)
	case !f.Type.HoldsObject() && f.Type != Synced && f.Type != Gap:
		return fmt.Errorf("type %q is not known", f.Type)
	case f.Type.HoldsObject() != (len(f.Object) > 0):
		return fmt.Errorf("%s of %s with an object, or without one", f.Type, c.resources[f.Resource])
	case (f.Type == Synced) != (f.ResourceVersion != ""):
		return fmt.Errorf("%s of %s with a resourceVersion, or without one", f.Type, c.resources[f.Resource])
	}
	c.last = f.At
	c.frames++
	return nil
}
