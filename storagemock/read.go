package storagemock

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/store"
)

// getObject is E3 and E8.
func (s *Server) getObject(c *call) reply {
	p, err := parseParams(c.query, nil)
	if err != nil {
		return failure(200, bcsapi.CodeGet, err.Error(), false)
	}
	rec := s.store.Get(c.key, p.filter)
	if rec == nil {
		return failure(200, bcsapi.CodeNotExist, "", false)
	}
	return success(document(rec.Fields(), parseProjection(p.fields)), "")
}

// listObjects is E4 and E9.
func (s *Server) listObjects(c *call) reply {
	p, err := parseParams(c.query, nil)
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	if p.limit == 0 {
		p.limit = store.DefaultLimit
	}
	docs := matching(s.store.List(c.key.Cluster, c.key.Kind, c.key.Namespace), p.filter)
	return success(render(docs[min(p.offset, len(docs)):min(p.offset+p.limit, len(docs))], p.fields), "")
}

// What E12 has: the parameters besides its own ones, and the fields of its documents.
var (
	eventParams = strings.Fields("field limit offset id env kind level component type " +
		"extraInfo.name extraInfo.namespace extraInfo.kind")
	eventFields = strings.Fields("id env kind level component type describe clusterId extraInfo eventTime createTime data")
)

// listEvents is E12, of the events of the last hour in their latest state.
func (s *Server) listEvents(c *call) reply {
	var clusters, length string
	var after, before int64 // exclusive, Unix seconds; as on the real server, what is not positive is ignored
	p, err := parseParams(c.query, func(key, text string) bool {
		switch key {
		case "clusterId":
			clusters = text
		case "length":
			length = text
		case "timeBegin":
			after, _ = strconv.ParseInt(text, 10, 64)
		case "timeEnd":
			before, _ = strconv.ParseInt(text, 10, 64)
		default:
			return text == "" || !slices.Contains(eventParams, key) // the real server ignores others
		}
		return true
	})
	if err == nil && clusters == "" {
		err = errors.New("clusterId is missing")
	}
	if err == nil {
		p.limit, err = number("length", length)
	}
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	var docs []*store.Record
	for _, cluster := range strings.Split(clusters, ",") {
		docs = append(docs, s.store.List(cluster, bcsapi.KindEvent, "")...)
	}
	docs = slices.DeleteFunc(matching(docs, p.filter), func(r *store.Record) bool {
		return r.Event == nil || after > 0 && r.Event.EventTime <= after || before > 0 && r.Event.EventTime >= before
	})
	slices.SortStableFunc(docs, func(a, b *store.Record) int { return cmp.Compare(b.Event.EventTime, a.Event.EventTime) })
	total := len(docs)
	// The real server's answer without a length is empty.
	docs = docs[min(p.offset, total):min(p.offset+p.limit, total)]
	if len(p.fields) == 0 {
		p.fields = eventFields
	}
	return success(render(docs, p.fields), `,"total":`+strconv.Itoa(total))
}

// params are the parameters of a request for dynamic resources.
type params struct {
	filter        store.Filter
	fields        []string
	limit, offset int
	// uid is set if the filter demands one value of data.metadata.uid: the request is then a conditional delete.
	uid string
}

// uidPath is the filter that makes a DELETE conditional.
const uidPath = "data.metadata.uid"

// parseParams reads a query string; own takes the parameters of one endpoint alone.
func parseParams(raw string, own func(key, text string) bool) (params, error) {
	var p params
	values, err := url.ParseQuery(raw)
	if err != nil {
		return p, fmt.Errorf("the query string: %w", err)
	}
	// To ignore what this mock lacks would be to answer another question.
	if i := slices.IndexFunc(missing, values.Has); i >= 0 {
		return p, fmt.Errorf("the parameter %s is not implemented by this mock", missing[i])
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		texts := values[key]
		if own != nil && own(key, texts[0]) {
			continue
		}
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

// addFilter takes path=v1,v2, which selects one of the values; several occurrences must all hold.
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

// matching keeps the documents that a filter selects.
func matching(docs []*store.Record, f store.Filter) []*store.Record {
	return slices.DeleteFunc(docs, func(r *store.Record) bool { return !f.Match(r) })
}

// render returns a JSON array of documents, each with those fields only.
func render(docs []*store.Record, fields []string) []byte {
	root := parseProjection(fields)
	b := []byte{'['}
	for i, d := range docs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, document(d.Fields(), root)...)
	}
	return append(b, ']')
}
