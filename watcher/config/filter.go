package config

// Filter is the filter file. Its comments are text of docs/k8s-watch-reference.md.
type Filter struct {
	// Group-versions to watch, such as `v1` or `apps/v1`. `v1` always includes Namespaces.
	K8sResourceWhiteList []string `json:"k8sResourceWhiteList"`
	// Kinds to leave out; an entry without kinds leaves out the whole group-version.
	APIResourceException []GroupKinds `json:"apiResourceException"`
	// If not empty, only these kinds are watched.
	APIResourceSpecification []GroupKinds `json:"apiResourceSpecification"`
	// Group-versions of custom resources to follow.
	CRDResourceWhiteList []string `json:"crdResourceWhiteList"`
	// No effect: definitions are read as `apiextensions.k8s.io/v1`.
	CRDVersionSupport string `json:"crdVersionSupport"`
	// Namespaces whose objects are left out.
	ResourceNamespaceFilters []string `json:"resourceNamespaceFilters"`
	// Names of objects to leave out, in every namespace and kind.
	ResourceNameFilters []string `json:"resourceNameFilters"`
	// Despite its name, `true` *keeps* `metadata.managedFields` and `false` removes it, as in bcs-k8s-watch. See
	// `keepManagedFields`.
	KeepManagedFields bool `json:"isFilterManagedFields"`
	// The same under a better name. Different values in both are an error.
	KeepAlias bool `json:"keepManagedFields"`
	// Fields to remove before sending.
	ResourceMaskers []Masker `json:"resourceMaskers"`
	// No effect.
	APIResourceLists []any `json:"apiResourceLists"`
}

// GroupKinds names kinds of one group-version.
type GroupKinds struct {
	// As in the white list.
	GroupVersion string `json:"groupVersion"`
	// Kinds, such as `Pod`.
	ResourceKinds []string `json:"resourceKinds"`
}

// Masker deletes the field at Path from objects of a kind before they go out.
type Masker struct {
	// Kind of the objects. Required.
	Kind string `json:"kind"`
	// Their namespace; empty is all.
	Namespace string `json:"namespace"`
	// The field, one element per level, such as `["spec", "containers", "0", "env"]`. Required.
	Path []string `json:"path"`
}
