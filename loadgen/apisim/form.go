package apisim

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// form is how a client wants objects shown.
type form struct {
	as string // empty for the object itself, or asMetadata
}

const (
	asMetadata = "PartialObjectMetadata"

	metaVersion = "meta.k8s.io/v1"
)

// formOf chooses the first form of the Accept header that is served, false if there is
// none.
func formOf(r *http.Request) (form, bool) {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return form{}, true
	}
	for _, one := range strings.Split(strings.Join(values, ","), ",") {
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
		switch as := strings.TrimSuffix(params["as"], "List"); {
		case as == "":
			return form{}, true
		case as == asMetadata && params["g"] == metav1.GroupName && params["v"] == "v1":
			return form{as}, true
		}
	}
	return form{}, false
}

// metadataOf is the metadata of an object as JSON.
func metadataOf(v *version, rv uint64) []byte {
	return jsonscan.Lookup(v.appendJSON(nil, "", rv), "metadata")
}

// appendPartial appends the metadata of an object as an object of its own.
func appendPartial(b []byte, v *version, rv uint64) []byte {
	b = append(append(b, '{'), typed(metaVersion, asMetadata)...)
	return append(append(append(b, `"metadata":`...), metadataOf(v, rv)...), '}')
}

// head is the beginning of a list, up to its items.
func head(b []byte, gv, kind string, meta []byte) []byte {
	return append(append(append(append(b, '{'), typed(gv, kind)...), `"metadata":`...), meta...)
}
