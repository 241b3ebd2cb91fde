package storagemock

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/query"
	"github.com/watchbench/watchbench/storagemock/rawjson"
	"github.com/watchbench/watchbench/storagemock/store"
)

// getObject is E3 and E8.
func (s *Server) getObject(c *call) reply {
	f, err := parseFilter(c.query)
	if err != nil {
		return failure(200, bcsapi.CodeGet, err.Error(), false)
	}
	rec := s.store.Get(c.db, c.key, f.cond)
	if rec == nil {
		return failure(200, bcsapi.CodeNotExist, "", false)
	}
	return success(f.fields.Append(nil, rec), "")
}

// listObjects is E4, E9 and E17.
func (s *Server) listObjects(c *call) reply {
	f, err := parseFilter(c.query)
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	if f.limit == 0 {
		f.limit = store.DefaultLimit
	}
	docs := matching(s.store.List(c.db, c.key.Cluster, c.key.Kind, c.key.Namespace), f.cond)
	return success(render(page(docs, f.offset, f.limit), f.fields), "")
}

// multiclusterQuery is the body of E18.
type multiclusterQuery struct {
	Offset, Limit       int
	ClusteredNamespaces []struct {
		ClusterID  string   `json:"clusterId"`
		Namespaces []string `json:"namespaces"`
	}
	Field         string
	LabelSelector string
	Conditions    []json.RawMessage
	Sort          map[string]int
}

// listMulticluster is E18.
func (s *Server) listMulticluster(c *call) reply {
	var q multiclusterQuery
	cond, err := q.parse(c.body)
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	docs := matching(s.store.List(c.db, "", c.key.Kind, ""), cond)
	total := len(docs)
	sortDocuments(docs, q.Sort)
	limit := q.Limit
	if limit == 0 {
		limit = store.DefaultLimit
	}
	extra := fmt.Sprintf(`,"total":%d,"pageSize":%d,"offset":%d`, total, q.Limit, q.Offset)
	fields := query.ParseProjection(strings.Split(q.Field, ","))
	return success(render(page(docs, q.Offset, limit), fields), extra)
}

func (q *multiclusterQuery) parse(body []byte) (query.Condition, error) {
	if err := rawjson.Valid(body); err != nil {
		return nil, fmt.Errorf("the request's body: %w", err)
	}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, fmt.Errorf("the request's body: %w", err)
	}
	if q.Offset < 0 || q.Limit < 0 {
		return nil, fmt.Errorf("offset %d, limit %d: neither may be negative", q.Offset, q.Limit)
	}
	if len(q.ClusteredNamespaces) == 0 {
		return nil, fmt.Errorf("clusteredNamespaces is empty; want at least one {clusterId, namespaces}")
	}
	var where query.AnyOf
	for _, cn := range q.ClusteredNamespaces {
		if cn.ClusterID == "" {
			return nil, fmt.Errorf("a clusterId in clusteredNamespaces is empty")
		}
		one := query.All{query.OneOf("clusterId", []string{cn.ClusterID})}
		if len(cn.Namespaces) > 0 {
			one = append(one, query.OneOf("namespace", cn.Namespaces))
		}
		where = append(where, one)
	}
	all := query.All{where}
	for _, raw := range q.Conditions {
		cond, err := query.ParseTree(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, cond)
	}
	if q.LabelSelector != "" {
		cond, err := query.ParseSelector(q.LabelSelector)
		if err != nil {
			return nil, err
		}
		all = append(all, cond)
	}
	return all, nil
}

// watchUpdateTime is how the watch endpoints stamp an object.
const watchUpdateTime = "updateTime"

// readWatch is E16: the object itself, with the time of its last PUT added, or
// the names of a type.
func (s *Server) readWatch(c *call) reply {
	if c.endpoint == watchList {
		b := []byte{'['}
		for i, rec := range s.store.List(c.db, c.key.Cluster, c.key.Kind, c.key.Namespace) {
			if i > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendString(b, rec.Namespace+"."+rec.Name)
		}
		return success(append(b, ']'), "")
	}
	rec := s.store.Get(c.db, c.key, nil)
	if rec == nil {
		return failure(200, bcsapi.CodeGet, "", false)
	}
	b := []byte{'{'}
	for key, v := range rawjson.RawMembers(rec.Data) {
		if string(key) == `"`+watchUpdateTime+`"` {
			continue
		}
		b = append(append(append(b, key...), ':'), v...)
		b = append(b, ',')
	}
	b = append(rawjson.AppendString(b, watchUpdateTime), ':')
	b = append(b, query.TimeValue(rec.Updated)...)
	return success(append(b, '}'), "")
}

// eventFilters are the parameters of an event list that compare a field.
var eventFilters = []string{
	"id", "env", "kind", "level", "component", "type", "clusterId", "extraInfo.name", "extraInfo.namespace", "extraInfo.kind",
}

// listEvents is E12 and E13.
func (s *Server) listEvents(c *call) reply {
	params, err := eventParams(c)
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	clusters := params.Get("clusterId")
	if clusters == "" {
		return failure(200, bcsapi.CodeList, "clusterId is missing", true)
	}
	length, err := number("length", params.Get("length"))
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	offset, err := number("offset", params.Get("offset"))
	if err != nil {
		return failure(200, bcsapi.CodeList, err.Error(), true)
	}
	cond := eventCondition(params)
	fields := strings.Split(params.Get("field"), ",")
	total := 0
	var docs []*store.Event
	for _, cluster := range strings.Split(clusters, ",") {
		found := matching(s.store.Events(cluster), cond)
		total += len(found)
		docs = append(docs, page(found, offset, length)...)
	}
	// The real server's answer without a length is empty.
	docs = docs[:min(length, len(docs))]
	for _, f := range fields {
		if f == "data.metadata.name" {
			docs = matching(docs, query.Exists{Path: query.ParsePath(f)})
		}
	}
	return success(render(docs, query.ParseProjection(fields)), `,"total":`+strconv.Itoa(total))
}

// eventParams are the query parameters or, for a POST, the members of the body:
// texts, numbers and lists of texts.
func eventParams(c *call) (url.Values, error) {
	params, err := url.ParseQuery(c.query)
	if err != nil {
		return nil, fmt.Errorf("the query string: %w", err)
	}
	if c.method != "POST" || len(c.body) == 0 {
		return params, nil
	}
	if err := rawjson.Valid(c.body); err != nil {
		return nil, fmt.Errorf("the request's body: %w", err)
	}
	for key, v := range rawjson.Members([]byte(strings.TrimSpace(string(c.body)))) {
		switch rawjson.KindOf(v) {
		case rawjson.Array:
			var texts []string
			for e := range rawjson.Elements(v) {
				texts = append(texts, rawjson.Unquote(e))
			}
			params.Set(key, strings.Join(texts, ","))
		default:
			params.Set(key, rawjson.Unquote(v))
		}
	}
	return params, nil
}

func eventCondition(params url.Values) query.Condition {
	var all query.All
	for _, path := range eventFilters {
		if v := params.Get(path); v != "" {
			all = append(all, query.OneOf(path, strings.Split(v, ",")))
		}
	}
	for key, op := range map[string]string{"timeBegin": "gt", "timeEnd": "lt"} {
		if seconds, err := strconv.ParseInt(params.Get(key), 10, 64); err == nil && seconds > 0 {
			all = append(all, query.Order{Path: query.Path{"eventTime"}, Op: op, Value: query.TimeValue(time.Unix(seconds, 0))})
		}
	}
	if extra := params.Get("extra"); extra != "" {
		all = append(all, extraIn(extra))
	}
	if contain, err := base64.StdEncoding.DecodeString(params.Get("extra_contain")); err == nil && rawjson.Valid(contain) == nil {
		for path, v := range rawjson.Members(contain) {
			if rawjson.KindOf(v) == rawjson.String {
				all = append(all, query.Contains{Path: query.ParsePath(path), Text: rawjson.Unquote(v)})
			}
		}
	}
	return all
}

// extraIn is the extra parameter of an event list: a member may also be a list,
// of which one value must be equal.
func extraIn(text string) query.Condition {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || rawjson.Valid(raw) != nil {
		return query.All{}
	}
	var all query.All
	for path, v := range rawjson.Members(raw) {
		in := query.In{Path: query.ParsePath(path), Values: [][]byte{v}}
		if rawjson.KindOf(v) == rawjson.Array {
			in.Values = nil
			for e := range rawjson.Elements(v) {
				in.Values = append(in.Values, e)
			}
		}
		all = append(all, in)
	}
	return all
}
