package check

import (
	"slices"
	"strings"
)

// Rules say what the watcher is meant to copy and in what form, in the words of the original's filter file (contract
// §2.3, §2.4, §7.2).
type Rules struct {
	Kinds            []string `json:"kinds,omitempty"`     // watched kinds; empty: every kind recorded
	Namespace        string   `json:"namespace,omitempty"` // only this namespace; cluster scope is then skipped
	IgnoreNamespaces []string `json:"ignoreNamespaces,omitempty"`
	IgnoreNames      []string `json:"ignoreNames,omitempty"`
	// CustomKinds are kinds of custom resources: name and namespace filters and masks do not apply to them.
	CustomKinds []string `json:"customKinds,omitempty"`

	KeepManagedFields bool   `json:"keepManagedFields,omitempty"`
	Masks             []Mask `json:"masks,omitempty"`
}

// Mask is a field that must not leave the watcher.
type Mask struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"` // empty: all
	Path      []string `json:"path"`
}

func (m *Mask) meant(kind, namespace string) bool {
	return m.Kind == kind && (m.Namespace == "" || m.Namespace == namespace)
}

// Kinds with rules of their own.
const (
	kindEvent         = "Event"
	kindNode          = "Node"
	kindLease         = "Lease"
	kindPod           = "Pod"
	kindSecret        = "Secret"
	kindExportService = "ExportService"
	kindState         = "K8sWatchState"
)

// Kinds a watcher writes that come from no watch (contract §5; the last is k8s-watch's own record of the kinds it
// collects).
var unwatchedKinds = []string{"IPPoolStatic", "IPPoolStaticDetail", kindState}

// Name prefixes of Events in kube-system that are kept and bypass the filters (contract §2.3 rule 2).
var keptSystemEvents = []string{"kube-", "kubedns-", "nginx-proxy", "bcs-"}

// Unwatched reports whether a watcher writes rows of the kind that come from no watch: the apiserver has no such
// objects.
func Unwatched(kind string) bool { return slices.Contains(unwatchedKinds, kind) }

// Watches reports whether objects of the kind are expected in storage at all.
func (r *Rules) Watches(kind string) bool {
	if Unwatched(kind) {
		return false
	}
	return len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)
}

// Wants reports whether the object of that key is expected in storage.
func (r *Rules) Wants(kind, namespace, name string) bool {
	if !r.Watches(kind) {
		return false
	}
	if r.Namespace != "" && namespace != r.Namespace {
		return false
	}
	if slices.Contains(r.CustomKinds, kind) {
		return true
	}
	if kind == kindEvent && namespace == "kube-system" {
		return slices.ContainsFunc(keptSystemEvents, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	if namespace != "" && slices.Contains(r.IgnoreNamespaces, namespace) {
		return false
	}
	return !slices.Contains(r.IgnoreNames, name)
}
