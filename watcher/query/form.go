package query

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/watches"
)

type form struct {
	as string // empty: as they are; or kubeapi.AsTable, AsMetadata
	// include says how much of their objects the rows of a table carry.
	include metav1.IncludeObjectPolicy
}

// parseInclude reads includeObject, which only tables use.
func (f *form) parseInclude(text string) error {
	f.include = metav1.IncludeObjectPolicy(text)
	switch f.include {
	case "":
		f.include = metav1.IncludeMetadata
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
	default:
		return kubeapi.BadRequest("includeObject: Invalid value: %q: want None, Metadata or Object", text)
	}
	return nil
}

// kind is the type of a list in this form, or of a single object if one is set.
func (f form) kind(k watches.Kind, one bool) (groupVersion, kind string) {
	groupVersion, kind = k.GroupVersion(), k.Kind
	if f.as != "" {
		groupVersion, kind = kubeapi.MetaVersion, f.as
	}
	if !one && f.as != kubeapi.AsTable {
		kind += "List"
	}
	return groupVersion, kind
}

// appendObject appends one object in this form, which stands alone: a table has one row.
func (f form) appendObject(b []byte, k watches.Kind, raw []byte, columns bool) ([]byte, error) {
	switch f.as {
	case kubeapi.AsTable:
		b = append(kubeapi.Typed(append(b, '{'), kubeapi.MetaVersion, kubeapi.AsTable), `"metadata":{"resourceVersion":`...)
		version := jsonscan.Lookup(raw, "metadata", "resourceVersion")
		if !jsonscan.IsString(version) {
			version = []byte(`""`)
		}
		b = append(append(b, version...), `},"columnDefinitions":`...)
		b = appendColumns(b, k, columns)
		b, err := f.appendItem(append(b, `,"rows":[`...), k, raw)
		return append(b, "]}"...), err
	case kubeapi.AsMetadata:
		return kubeapi.AppendPartial(b, object.MetadataOf(raw)), nil
	}
	return append(b, raw...), nil
}

func (f form) appendItem(b []byte, k watches.Kind, raw []byte) ([]byte, error) {
	switch f.as {
	case kubeapi.AsTable:
		return appendRow(b, k, raw, f.include)
	case kubeapi.AsMetadata:
		return kubeapi.AppendPartial(b, object.MetadataOf(raw)), nil
	}
	return append(b, raw...), nil
}

func (f form) appendListHead(b []byte, k watches.Kind, m kubeapi.ListMeta) []byte {
	gv, kind := f.kind(k, false)
	b = kubeapi.AppendListHead(b, gv, kind, m)
	if f.as == kubeapi.AsTable {
		b = appendColumns(append(b, `},"columnDefinitions":`...), k, true)
		return append(b, `,"rows":[`...)
	}
	return append(b, `},"items":[`...)
}
