package relation

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// Query asks for what is related to one object.
type Query struct {
	User                 access.User // who asks
	Group, Version, Kind string      // the core group has no name
	Namespace, Name      string      // no namespace for a kind of the cluster scope
	Depth                int         // 1 to MaxDepth; 0 is DefaultDepth
	Direction            Direction   // "" is Down
}

// InputError is a query that cannot be answered as it is: 400.
type InputError struct {
	Parameter string
	Text      string // what is wrong, and what would be right
}

func (e *InputError) Error() string { return e.Parameter + ": " + e.Text }

// NotFoundError says that there is no such object: 404.
type NotFoundError struct{ Query Query }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s %q not found", e.Query.Kind, e.Query.Name)
}

var parameters = []string{"gvk", "namespace", "name", "depth", "direction"}

// ParseQuery reads the query of a URL.
func ParseQuery(raw string) (Query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Query{}, &InputError{"query", "want name=value pairs joined by &, with %-escapes of two digits"}
	}
	for key, all := range values {
		if !slices.Contains(parameters, key) {
			return Query{}, &InputError{strconv.Quote(key), "no such parameter; there are " + strings.Join(parameters, ", ")}
		}
		if len(all) > 1 {
			return Query{}, &InputError{key, fmt.Sprintf("stands %d times; want one", len(all))}
		}
	}
	q := Query{Namespace: values.Get("namespace"), Name: values.Get("name"), Direction: Direction(values.Get("direction"))}
	if q.Group, q.Version, q.Kind, err = parseGVK(values.Get("gvk")); err != nil {
		return Query{}, err
	}
	if depth := values.Get("depth"); depth != "" {
		if q.Depth, err = strconv.Atoi(depth); err != nil || q.Depth == 0 {
			return Query{}, badDepth(depth)
		}
	}
	return q.checked()
}

func badDepth(depth string) error {
	return &InputError{"depth", fmt.Sprintf("%q: want 1 to %d", depth, MaxDepth)}
}

func parseGVK(gvk string) (group, version, kind string, err error) {
	parts := strings.Split(gvk, "/")
	if len(parts) == 2 {
		parts = slices.Insert(parts, 0, "")
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" || strings.HasPrefix(gvk, "/") {
		return "", "", "", &InputError{"gvk",
			fmt.Sprintf("%q: want version/Kind or group/version/Kind, such as v1/Pod or apps/v1/Deployment", gvk)}
	}
	return parts[0], parts[1], parts[2], nil
}

// checked fills in what is left out.
func (q Query) checked() (Query, error) {
	if q.Depth == 0 {
		q.Depth = DefaultDepth
	}
	if q.Direction == "" {
		q.Direction = Down
	}
	switch {
	case q.Version == "" || q.Kind == "":
		return q, &InputError{"gvk", "want a version and a kind"}
	case q.Name == "":
		return q, &InputError{"name", "want the name of one object"}
	case q.Depth < 1 || q.Depth > MaxDepth:
		return q, badDepth(strconv.Itoa(q.Depth))
	case q.Direction != Down && q.Direction != Up && q.Direction != Both:
		return q, &InputError{"direction", fmt.Sprintf("%q: want down, up or both", q.Direction)}
	}
	return q, nil
}
