package kubeapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Forms in which clients want objects shown, and what is served. Empty is an object as it is.
const (
	AsTable     = "Table"
	AsMetadata  = "PartialObjectMetadata"
	AsDiscovery = "APIGroupDiscovery"

	MetaVersion = "meta.k8s.io/v1" // of the first two
	discovery   = "apidiscovery.k8s.io/v2"
)

// FormOf chooses the first form of the Accept header that is offered, false if there is none. The object as it is
// always is.
func FormOf(r *http.Request, offered ...string) (as string, ok bool) {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return "", true
	}
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		parts := strings.Split(one, ";")
		switch strings.TrimSpace(parts[0]) {
		case "", StatusType, "application/*", "*/*":
		default:
			continue
		}
		params := map[string]string{}
		for _, p := range parts[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			params[name] = value
		}
		as := strings.TrimSuffix(params["as"], "List")
		if as == "" {
			return "", true
		}
		for _, form := range offered {
			of := MetaVersion
			if form == AsDiscovery {
				of = discovery
			}
			if as == form && params["g"]+"/"+params["v"] == of {
				return as, true
			}
		}
	}
	return "", false
}

// Typed appends the first members of an object, with a comma behind.
func Typed(b []byte, groupVersion, kind string) []byte {
	b = jsonscan.AppendString(append(b, `"kind":`...), kind)
	return append(jsonscan.AppendString(append(b, `,"apiVersion":`...), groupVersion), ',')
}

// AppendPartial appends the metadata of an object as an object of its own.
func AppendPartial(b, metadata []byte) []byte {
	b = append(Typed(append(b, '{'), MetaVersion, AsMetadata), `"metadata":`...)
	return append(append(b, metadata...), '}')
}

// ListMeta is the metadata of a list.
type ListMeta struct {
	Version uint64
	Next    string // the continue token; empty: it is the last page
	Left    int    // objects behind this page; -1: not known
	Shard   string // the selector of a shard; empty: the list is of everything
}

// AppendListHead appends the beginning of a list up to its metadata, which lacks its brace.
func AppendListHead(b []byte, groupVersion, kind string, m ListMeta) []byte {
	b = append(Typed(append(b, '{'), groupVersion, kind), `"metadata":{"resourceVersion":"`...)
	b = append(strconv.AppendUint(b, m.Version, 10), '"')
	if m.Next != "" {
		b = append(append(append(b, `,"continue":"`...), m.Next...), '"')
		if m.Left >= 0 {
			b = strconv.AppendInt(append(b, `,"remainingItemCount":`...), int64(m.Left), 10)
		}
	}
	if m.Shard != "" {
		b = append(jsonscan.AppendString(append(b, `,"shardInfo":{"selector":`...), m.Shard), '}')
	}
	return b
}

// InitialEnd are members of the metadata of the bookmark that ends a streaming list.
const InitialEnd = `,"annotations":{"k8s.io/initial-events-end":"true"}`

// AppendBookmark appends one. meta are more members of its metadata, more are members of the object behind that.
func AppendBookmark(b []byte, groupVersion, kind string, version uint64, meta, more string) []byte {
	b = Typed(append(b, `{"type":"BOOKMARK","object":{`...), groupVersion, kind)
	b = append(b, `"metadata":{"resourceVersion":"`...)
	b = append(append(strconv.AppendUint(b, version, 10), `","creationTimestamp":null`...), meta...)
	return append(append(append(b, '}'), more...), "}}\n"...)
}
