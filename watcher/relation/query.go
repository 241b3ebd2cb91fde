package relation

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
)

// Direction is which way a query follows edges.
type Direction string

// The directions.
const (
	Down Direction = "down" // to what an object has or uses
	Up   Direction = "up"   // to what has or uses it
	Both Direction = "both" // what Down and Up find together; not up again from what is below
)

// Query asks for what is related to one object. ParseQuery makes valid ones.
type Query struct {
	User                 access.User // the caller
	Group, Version, Kind string      // the core group has no name
	Namespace, Name      string      // no namespace for a kind of the cluster scope
	Depth                int         // 1 to MaxDepth
	Direction            Direction
}

var parameters = []string{"gvk", "namespace", "name", "depth", "direction"}

// ParseQuery reads the query of a URL. Its error is a Status.
func ParseQuery(values url.Values) (q Query, err error) {
	for key, all := range values {
		if !slices.Contains(parameters, key) {
			return q, kubeapi.BadRequest("%q: no such parameter; there are %s", key, strings.Join(parameters, ", "))
		}
		if len(all) > 1 {
			return q, kubeapi.BadRequest("%s: stands %d times; want one", key, len(all))
		}
	}
	q = Query{
		Namespace: values.Get("namespace"), Name: values.Get("name"), Depth: DefaultDepth,
		Direction: Direction(cmp.Or(values.Get("direction"), string(Down))),
	}
	if q.Group, q.Version, q.Kind, err = parseGVK(values.Get("gvk")); err != nil {
		return q, err
	}
	if depth := values.Get("depth"); depth != "" {
		if q.Depth, err = strconv.Atoi(depth); err != nil || q.Depth < 1 || q.Depth > MaxDepth {
			return q, kubeapi.BadRequest("depth: %q: want 1 to %d", depth, MaxDepth)
		}
	}
	switch {
	case q.Name == "":
		return q, kubeapi.BadRequest("name: want the name of one object")
	case q.Direction != Down && q.Direction != Up && q.Direction != Both:
		return q, kubeapi.BadRequest("direction: %q: want down, up or both", q.Direction)
	}
	return q, nil
}

func parseGVK(gvk string) (group, version, kind string, err error) {
	parts := strings.Split(gvk, "/")
	if len(parts) == 2 {
		parts = slices.Insert(parts, 0, "")
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" || strings.ToLower(parts[2][:1]) == parts[2][:1] ||
		strings.HasPrefix(gvk, "/") {
		return "", "", "", kubeapi.BadRequest("gvk: %q: want version/Kind or group/version/Kind, such as v1/Pod or "+
			"apps/v1/Deployment", gvk)
	}
	return parts[0], parts[1], parts[2], nil
}
