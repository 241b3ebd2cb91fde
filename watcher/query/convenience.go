package query

import (
	"cmp"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/watches"
)

// objectQuery is the query of /v1/objects, in the URL or as a body.
type objectQuery struct {
	GVK           string `json:"gvk"` // group/version/kind, version/kind of the core group
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	LabelSelector string `json:"labelSelector"`
	FieldSelector string `json:"fieldSelector"`
	Limit         int64  `json:"limit"`
	Continue      string `json:"continue"`
	Wait          string `json:"wait"` // how long the kind's first list may take, as in 5s
}

// objectFields lists the fields of an objectQuery, for messages.
const objectFields = "gvk, namespace, name, labelSelector, fieldSelector, limit, continue and wait"

// query answers /v1/objects as the path of the resource would be.
func (h *Handler) query(w *recorder, r *http.Request, q *request, user access.User) error {
	in, err := readQuery(w, r, q)
	if err != nil {
		return err
	}
	wait, err := in.wait()
	if err != nil {
		return err
	}
	parts := strings.Split(in.GVK, "/")
	var group string
	switch {
	case len(parts) == 3 && parts[0] != "":
		group, parts = parts[0], parts[1:]
	case len(parts) != 2:
		return badRequest("gvk: Invalid value: %q: want group/version/kind, as in apps/v1/Deployment, or v1/Pod", in.GVK)
	}
	all := h.kinds.Served()
	kind, ok := all.FindKind(group, parts[0], parts[1])
	switch {
	case !ok && len(all.Groups) == 0:
		return notKnown()
	case !ok: // which is for users who may read discovery
		if err := h.guard.Authorize(r.Context(), user, access.Attributes{Verb: "get",
			Path: discoveryPath(group, parts[0])}); err != nil {
			return err
		}
		return statusOf(all.NoKind(group, parts[0], parts[1]),
			watches.GVR{Group: group, Version: parts[0], Resource: parts[1]})
	}
	of := &request{
		gvr: watches.GVR{Group: group, Version: parts[0], Resource: kind.Name}, namespace: in.Namespace, name: in.Name,
		verb: "get", query: in.values(), place: q.place,
	}
	if of.name == "" {
		of.listOrWatch()
	} else if of.gvr == namespaces {
		of.namespace = of.name // as in the path
	}
	if wrong := in.check(kind); wrong != nil { // the kind's scope, too, is for those who may read it
		if err := h.guard.Authorize(r.Context(), user, of.attributes()); err != nil {
			return statusOf(err, of.gvr)
		}
		return wrong
	}
	if err := h.read(w, r, of, user, wait); err != nil {
		return statusOf(err, of.gvr)
	}
	return nil
}

// discoveryPath is where it is said what a version of a group has.
func discoveryPath(group, version string) string {
	if group == "" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}

// readQuery reads the URL or the body.
func readQuery(w http.ResponseWriter, r *http.Request, q *request) (in objectQuery, err error) {
	switch {
	case r.Method == http.MethodGet && q.path == "/v1/objects":
		return in, in.parse(q.query)
	case r.Method != http.MethodPost && q.path == "/v1/objects:query":
		return in, notAllowed(w, http.MethodPost, "use POST")
	case r.Method != http.MethodPost || q.path != "/v1/objects:query":
		return in, notAllowed(w, http.MethodGet, readOnly)
	}
	if len(q.query) > 0 {
		return in, badRequest("the query belongs into the body, not into the URL")
	}
	return in, readBody(w, r, &in, objectFields)
}

// readBody reads a request's body, strictly; known names its fields.
func readBody(w http.ResponseWriter, r *http.Request, into any, known string) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != kubeapi.StatusType {
		return status(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "the body of the request must be of type %s",
			kubeapi.StatusType)
	}
	err := kubeapi.DecodeStrict(http.MaxBytesReader(w, r.Body, maxBody), into)
	var large *http.MaxBytesError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &large):
		return status(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge",
			"the body of the request is larger than %d bytes", maxBody)
	case errors.As(err, &typed):
		want := map[reflect.Kind]string{reflect.String: "a string", reflect.Int64: "a whole number"}[typed.Type.Kind()]
		article := "a "
		if strings.HasPrefix(typed.Value, "a") || strings.HasPrefix(typed.Value, "o") {
			article = "an "
		}
		return badRequest("%s: %s; want %s", cmp.Or(typed.Field, "the body of the request"), article+typed.Value,
			cmp.Or(want, "an object"))
	case err != nil:
		text := strings.TrimPrefix(err.Error(), "json: ")
		if strings.HasPrefix(text, "unknown field") {
			text += "; known are " + known
		}
		return badRequest("the body of the request cannot be read: %s", text)
	}
	return nil
}

// parse reads the URL's query, in which nothing may be unknown or stand twice.
func (in *objectQuery) parse(q url.Values) error {
	fields := map[string]*string{
		"gvk": &in.GVK, "namespace": &in.Namespace, "name": &in.Name, "labelSelector": &in.LabelSelector,
		"fieldSelector": &in.FieldSelector,
		"continue":      &in.Continue, "wait": &in.Wait, "limit": nil,
	}
	for name, values := range q {
		to, known := fields[name]
		switch {
		case !known:
			return badRequest("unknown parameter %q; known are %s", name, objectFields)
		case len(values) != 1:
			return badRequest("the parameter %q stands more than once", name)
		case to != nil:
			*to = values[0]
		case values[0] != "":
			var err error
			if in.Limit, err = strconv.ParseInt(values[0], 10, 64); err != nil {
				return badRequest("limit: Invalid value: %q: want a whole number", values[0])
			}
		}
	}
	return nil
}

func (in *objectQuery) wait() (time.Duration, error) {
	if in.Wait == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(in.Wait)
	if err != nil || d <= 0 || d > watches.MaxWait {
		return 0, badRequest("wait: Invalid value: %q: want a duration up to %s, as in 5s", in.Wait, watches.MaxWait)
	}
	return d, nil
}

// check refuses what does not fit the kind, or one another.
func (in *objectQuery) check(k watches.Kind) error {
	for _, name := range []string{in.Namespace, in.Name} {
		if name != "" && len(content.IsPathSegmentName(name)) > 0 {
			return badRequest("namespace or name: Invalid value: %q", name)
		}
	}
	switch {
	case in.Limit < 0:
		return badRequest("limit: Invalid value: %d: want none or a positive number", in.Limit)
	case !k.Namespaced && in.Namespace != "":
		return badRequest("namespace: %s has none", k.Kind)
	case in.Name == "":
		return nil
	case k.Namespaced && in.Namespace == "":
		return badRequest("name: %s is in a namespace, which must be given", k.Kind)
	case in.LabelSelector != "" || in.FieldSelector != "" || in.Limit != 0 || in.Continue != "":
		return badRequest("name: one object cannot be selected or paged")
	}
	return nil
}

// values are the query as the path of the resource takes it.
func (in *objectQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"labelSelector": in.LabelSelector, "fieldSelector": in.FieldSelector,
		"continue": in.Continue} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if in.Limit > 0 {
		v.Set("limit", strconv.FormatInt(in.Limit, 10))
	}
	return v
}
