package query

import (
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/watches"
)

// form is how a client wants objects shown.
type form struct {
	as string // empty: as they are; or asTable, asMetadata, asDiscovery
	// include is what the rows of a table carry of their objects.
	include metav1.IncludeObjectPolicy
}

const (
	asTable     = "Table"
	asMetadata  = "PartialObjectMetadata"
	asDiscovery = "APIGroupDiscovery"

	metaVersion = "meta.k8s.io/v1"
)

// formOf chooses the first form of the Accept header that is served, false if there is
// none. Only discovery has the form asDiscovery.
func formOf(r *http.Request, discovery bool) (form, bool) {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return form{}, true
	}
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		parts := strings.Split(one, ";")
		switch strings.TrimSpace(parts[0]) {
		case "", kubeapi.StatusType, "application/*", "*/*":
		default:
			continue
		}
		params := map[string]string{}
		for _, p := range parts[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			params[name] = value
		}
		as := strings.TrimSuffix(params["as"], "List")
		switch {
		case as == "":
			return form{}, true
		case discovery && as == asDiscovery && params["g"] == "apidiscovery.k8s.io" && params["v"] == "v2":
			return form{as: as}, true
		case !discovery && (as == asTable || as == asMetadata) && params["g"] == metav1.GroupName && params["v"] == "v1":
			return form{as: as}, true
		}
	}
	return form{}, false
}

// parseInclude reads includeObject, which only tables use.
func (f *form) parseInclude(text string) error {
	f.include = metav1.IncludeObjectPolicy(text)
	switch f.include {
	case "":
		f.include = metav1.IncludeMetadata
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
	default:
		return badRequest("includeObject: Invalid value: %q: want None, Metadata or Object", text)
	}
	return nil
}

// typed are the first members of an object, with a comma behind.
func typed(b []byte, groupVersion, kind string) []byte {
	b = jsonscan.AppendString(append(b, `"kind":`...), kind)
	return append(jsonscan.AppendString(append(b, `,"apiVersion":`...), groupVersion), ',')
}

// kind is what a list in this form is, or one object if one is set.
func (f form) kind(k watches.Kind, one bool) (groupVersion, kind string) {
	groupVersion, kind = k.GroupVersion(), k.Kind
	if f.as != "" {
		groupVersion, kind = metaVersion, f.as
	}
	if !one && f.as != asTable {
		kind += "List"
	}
	return groupVersion, kind
}

// appendObject appends one object in this form, which stands alone: a table has one row.
func (f form) appendObject(b []byte, k watches.Kind, raw []byte, columns bool) ([]byte, error) {
	switch f.as {
	case asTable:
		b = append(typed(append(b, '{'), metaVersion, asTable), `"metadata":{"resourceVersion":`...)
		version := jsonscan.Lookup(raw, "metadata", "resourceVersion")
		if !jsonscan.IsString(version) {
			version = []byte(`""`)
		}
		b = append(append(b, version...), `},"columnDefinitions":`...)
		b = appendColumns(b, k, columns)
		b, err := f.appendItem(append(b, `,"rows":[`...), k, raw)
		return append(b, "]}"...), err
	case asMetadata:
		return appendPartial(b, raw), nil
	}
	return append(b, raw...), nil
}

// appendItem appends one object as an item of a list, or row of a table.
func (f form) appendItem(b []byte, k watches.Kind, raw []byte) ([]byte, error) {
	switch f.as {
	case asTable:
		return appendRow(b, k, raw, f.include)
	case asMetadata:
		return appendPartial(b, raw), nil
	}
	return append(b, raw...), nil
}

// appendPartial appends the metadata of an object as an object of its own.
func appendPartial(b, raw []byte) []byte {
	b = append(typed(append(b, '{'), metaVersion, asMetadata), `"metadata":`...)
	return append(append(b, object.MetadataOf(raw)...), '}')
}

// listMeta is the metadata of a list.
type listMeta struct {
	version uint64
	next    string // the continue token
	left    int    // objects behind this page; -1: not known
}

// appendListHead appends the beginning of a list up to its first item.
func (f form) appendListHead(b []byte, k watches.Kind, m listMeta) []byte {
	gv, kind := f.kind(k, false)
	b = append(typed(append(b, '{'), gv, kind), `"metadata":{"resourceVersion":"`...)
	b = append(strconv.AppendUint(b, m.version, 10), '"')
	if m.next != "" {
		b = append(append(append(b, `,"continue":"`...), m.next...), '"')
		if m.left >= 0 {
			b = strconv.AppendInt(append(b, `,"remainingItemCount":`...), int64(m.left), 10)
		}
	}
	if f.as == asTable {
		b = appendColumns(append(b, `},"columnDefinitions":`...), k, true)
		return append(b, `,"rows":[`...)
	}
	return append(b, `},"items":[`...)
}
