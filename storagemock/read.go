package storagemock

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/store"
)

// getObject is E3 and E8.
func (s *Server) getObject(c *call) reply {
	p, err := parseParams(c.query)
	if err != nil {
		return failure(200, bcsapi.CodeGet, err.Error(), false)
	}
	rec := s.store.Get(c.key, p.filter)
	if rec == nil {
		return failure(200, bcsapi.CodeNotExist, "", false)
	}
	return success(document(rec, parseProjection(p.fields)), "")
}

// listObjects is E4 and E9.
func (s *Server) listObjects(c *call) reply {
	p, err := parseParams(c.query)
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	if p.limit == 0 {
		p.limit = store.DefaultLimit
	}
	docs := matching(s.store.List(c.key.Cluster, c.key.Kind, c.key.Namespace), p.filter)
	return success(render(page(docs, p.offset, p.limit), p.fields), "")
}

// eventFilters are the parameters of an event list that compare a field.
var eventFilters = []string{
	"id", "env", "kind", "level", "component", "type", "clusterId", "extraInfo.name", "extraInfo.namespace",
	"extraInfo.kind",
}

// listEvents is E12.
func (s *Server) listEvents(c *call) reply {
	refuse := func(why string) reply { return failure(200, bcsapi.CodeList, why, true) }
	params, err := url.ParseQuery(c.query)
	if err != nil {
		return refuse("the query string: " + err.Error())
	}
	clusters := params.Get("clusterId")
	if clusters == "" {
		return refuse("clusterId is missing")
	}
	length, err := number("length", params.Get("length"))
	if err != nil {
		return refuse(err.Error())
	}
	offset, err := number("offset", params.Get("offset"))
	if err != nil {
		return refuse(err.Error())
	}
	if err := implemented(params); err != nil {
		return refuse(err.Error())
	}
	var filter store.Filter
	for _, path := range eventFilters {
		if v := params.Get(path); v != "" {
			filter = append(filter, store.In{Path: path, Values: strings.Split(v, ",")})
		}
	}
	after, before := unixTime(params.Get("timeBegin")), unixTime(params.Get("timeEnd"))
	fields := strings.Split(params.Get("field"), ",")
	total := 0
	var docs []*store.Event
	for _, cluster := range strings.Split(clusters, ",") {
		found := slices.DeleteFunc(s.store.Events(cluster), func(e *store.Event) bool {
			return !after.IsZero() && !e.Time.After(after) || !before.IsZero() && !e.Time.Before(before)
		})
		found = matching(found, filter)
		total += len(found)
		docs = append(docs, page(found, offset, length)...)
	}
	// The real server's answer without a length is empty.
	docs = docs[:min(length, len(docs))]
	if slices.Contains(fields, "data.metadata.name") {
		docs = slices.DeleteFunc(docs, func(e *store.Event) bool { return store.Value(e, "data.metadata.name") == nil })
	}
	return success(render(docs, fields), `,"total":`+strconv.Itoa(total))
}

// unixTime reads Unix seconds; as on the real server, anything but a positive number is
// ignored.
func unixTime(text string) time.Time {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 {
		return time.Unix(seconds, 0)
	}
	return time.Time{}
}

// params are the parameters of a request for dynamic resources.
type params struct {
	filter        store.Filter
	fields        []string
	limit, offset int
	// uid is set if the filter demands one value of data.metadata.uid: the request is
	// then a conditional delete.
	uid string
}

// uidPath is the filter that makes a DELETE conditional.
const uidPath = "data.metadata.uid"

func parseParams(raw string) (params, error) {
	var p params
	values, err := url.ParseQuery(raw)
	if err != nil {
		return p, fmt.Errorf("the query string: %w", err)
	}
	if err := implemented(values); err != nil {
		return p, err
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		texts := values[key]
		switch key {
		case "field":
			p.fields = strings.Split(texts[0], ",")
		case "limit":
			p.limit, err = number(key, texts[0])
		case "offset":
			p.offset, err = number(key, texts[0])
		default:
			err = p.addFilter(key, texts)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// addFilter takes path=v1,v2, which selects one of the values; several occurrences must
// all hold.
func (p *params) addFilter(path string, texts []string) error {
	for _, v := range texts {
		if strings.TrimSpace(v) == "" {
			return fmt.Errorf("the filter %s has no value", path)
		}
		p.filter = append(p.filter, store.In{Path: path, Values: strings.Split(v, ",")})
	}
	if path == uidPath && len(texts) == 1 && !strings.Contains(texts[0], ",") {
		p.uid = texts[0]
	}
	return nil
}

// missing are the real server's parameters that no known watcher sends.
var missing = []string{"labelSelector", "extra", "extra_contain", "updateTimeBefore"}

// implemented returns an error for a parameter of the real server that the mock lacks:
// to ignore it would be to answer another question.
func implemented(values url.Values) error {
	for _, key := range missing {
		if values.Has(key) {
			return fmt.Errorf("the parameter %s is not implemented by this mock", key)
		}
	}
	return nil
}

// number reads a whole number; empty text is 0.
func number(key, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<31 {
		return 0, fmt.Errorf("%s=%s is not a whole number from 0 on", key, text)
	}
	return int(n), nil
}

// page cuts limit elements out after offset; limit 0 is all.
func page[T any](all []T, offset, limit int) []T {
	all = all[min(offset, len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}

// matching keeps the documents that a filter selects.
func matching[T store.Document](docs []T, f store.Filter) []T {
	if len(f) == 0 {
		return docs
	}
	return slices.DeleteFunc(docs, func(d T) bool { return !f.Match(d) })
}

// render returns a JSON array of documents, each with those fields only.
func render[T store.Document](docs []T, fields []string) []byte {
	root := parseProjection(fields)
	b := []byte{'['}
	for i, d := range docs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, document(d, root)...)
	}
	return append(b, ']')
}
