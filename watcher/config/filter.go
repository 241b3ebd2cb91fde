package config

// Filter is the filter file.
type Filter struct {
	// K8sResourceWhiteList are the group-versions to watch; none means nothing.
	K8sResourceWhiteList []string `json:"k8sResourceWhiteList"`
	// APIResourceException excludes kinds; no kinds means the whole group-version.
	APIResourceException []GroupKinds `json:"apiResourceException"`
	// APIResourceSpecification, when not empty, is the list of what may be watched.
	APIResourceSpecification []GroupKinds `json:"apiResourceSpecification"`
	// CRDResourceWhiteList are the group/versions of custom resources to follow.
	CRDResourceWhiteList     []string `json:"crdResourceWhiteList"`
	CRDVersionSupport        string   `json:"crdVersionSupport"`
	ResourceNamespaceFilters []string `json:"resourceNamespaceFilters"`
	ResourceNameFilters      []string `json:"resourceNameFilters"`
	// KeepManagedFields, true, leaves metadata.managedFields in what is sent. The key says
	// the opposite of what it does, in the original too (contract §7.2).
	KeepManagedFields bool `json:"isFilterManagedFields"`
	// KeepAlias is isFilterManagedFields under a name that says what it does. Where both are
	// given they must agree. Once read, it is part of KeepManagedFields.
	KeepAlias bool `json:"keepManagedFields"`
	// ResourceMaskers delete fields of objects before they are sent.
	ResourceMaskers []Masker `json:"resourceMaskers"`
	// APIResourceLists is what the original watches when discovery fails. This
	// watcher keeps what discovery did tell and asks again for the rest.
	APIResourceLists []APIResourceList `json:"apiResourceLists"`
}

// GroupKinds names kinds of one group-version.
type GroupKinds struct {
	GroupVersion  string   `json:"groupVersion"`
	ResourceKinds []string `json:"resourceKinds"`
}

// Masker deletes the field at Path from objects of a kind before they go out.
type Masker struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"` // "" is all
	Path      []string `json:"path"`
}

// APIResourceList is an entry of APIResourceLists.
type APIResourceList struct {
	GroupVersion string        `json:"groupVersion"`
	APIResources []APIResource `json:"apiResources"`
}

// APIResource is one resource of an APIResourceList.
type APIResource struct {
	Name       string `json:"Name"`
	Namespaced bool   `json:"Namespaced"`
	Kind       string `json:"Kind"`
}
