package object

// Object is one cluster object. It is immutable: whoever holds one may keep it,
// and nobody may write to Raw.
type Object struct {
	Key Key
	UID string
	// ResourceVersion is the number behind metadata.resourceVersion. Kubernetes
	// 1.35 made it comparable within one resource type.
	ResourceVersion uint64
	// Raw is the whole object as one compact JSON value, apiVersion and kind
	// included, after the edits that do not depend on other objects
	// (managedFields stripped, masked fields removed).
	Raw []byte
}
