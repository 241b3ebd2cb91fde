package apisim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/apistatus"
	"github.com/watchbench/watchbench/internal/jsonscan"
)

// form is how a client wants objects shown.
type form struct {
	// as is empty for the object itself, or asTable or asMetadata.
	as string
	// include is what rows of a table carry of their objects.
	include metav1.IncludeObjectPolicy
}

const (
	asTable    = "Table"
	asMetadata = "PartialObjectMetadata"

	metaVersion = "meta.k8s.io/v1"
)

// formOf chooses the first form of the Accept header that is served, false if there is
// none.
func formOf(r *http.Request) (form, bool) {
	include := metav1.IncludeObjectPolicy(r.URL.Query().Get("includeObject"))
	if include == "" {
		include = metav1.IncludeMetadata
	}
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return form{}, true
	}
	for _, one := range strings.Split(strings.Join(values, ","), ",") {
		parts := strings.Split(one, ";")
		switch strings.TrimSpace(parts[0]) {
		case "", apistatus.ContentType, "application/*", "*/*":
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
		case params["g"] != metav1.GroupName || params["v"] != "v1":
		case slices.Contains([]string{asTable, asMetadata}, as):
			return form{as, include}, true
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

// head is the beginning of a list or a table, up to its items.
func head(b []byte, gv, kind string, meta []byte) []byte {
	return append(append(append(append(b, '{'), typed(gv, kind)...), `"metadata":`...), meta...)
}

// versionOnly is the metadata of what has a version only.
func versionOnly(rv uint64) []byte {
	return append(strconv.AppendUint([]byte(`{"resourceVersion":"`), rv, 10), `"}`...)
}
