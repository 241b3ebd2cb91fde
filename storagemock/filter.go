package storagemock

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/storagemock/query"
	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// filter is the query string of a request for dynamic resources.
type filter struct {
	cond          query.Condition // nil selects all
	fields        query.Projection
	paths         []string // of fields
	limit, offset int
	// uid is set when the filter demands one value of data.metadata.uid: a
	// conditional delete.
	uid string
}

// updateTimeLayout is the other form of updateTimeBefore, besides Unix seconds.
const updateTimeLayout = "2006-01-02T15:04:05.000Z"

func parseFilter(raw string) (filter, error) {
	var f filter
	if raw == "" {
		return f, nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return f, fmt.Errorf("the query string: %w", err)
	}
	var all query.All
	for _, key := range sorted(values) {
		cond, err := f.parameter(key, values[key])
		if err != nil {
			return f, err
		}
		if cond != nil {
			all = append(all, cond)
		}
	}
	if len(all) > 0 {
		f.cond = all
	}
	return f, nil
}

// parameter takes one parameter; a nil condition is none.
func (f *filter) parameter(key string, values []string) (query.Condition, error) {
	first := values[0]
	var err error
	switch key {
	case "field":
		f.paths = strings.Split(first, ",")
		f.fields = query.ParseProjection(f.paths)
	case "limit":
		f.limit, err = number(key, first)
	case "offset":
		f.offset, err = number(key, first)
	case "extra":
		return parseExtra(first), nil
	case "labelSelector":
		return query.ParseSelector(strings.Join(values, ","))
	case "updateTimeBefore":
		return parseBefore(first), nil
	default:
		if key == uidPath && len(values) == 1 && !strings.Contains(first, ",") {
			f.uid = first
		}
		return parseValues(key, values)
	}
	return nil, err
}

// uidPath is the filter that makes a DELETE conditional.
const uidPath = "data.metadata.uid"

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

// parseValues is path=v1,v2: one of the values; several occurrences all hold.
func parseValues(path string, values []string) (query.Condition, error) {
	var all query.All
	for _, v := range values {
		if strings.TrimSpace(v) == "" {
			return nil, fmt.Errorf("the filter %s has no value", path)
		}
		all = append(all, query.OneOf(path, strings.Split(v, ",")))
	}
	return all, nil
}

// parseExtra is base64 of a JSON object whose members must be equal. What cannot
// be read is ignored, as by the real server.
func parseExtra(text string) query.Condition {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || rawjson.Valid(raw) != nil {
		return nil
	}
	var all query.All
	for path, value := range rawjson.Members(raw) {
		all = append(all, query.Equal(path, value))
	}
	return all
}

// parseBefore selects updates before a time. What is no time is ignored, as by
// the real server.
func parseBefore(text string) query.Condition {
	at, err := time.Parse(updateTimeLayout, text)
	if seconds, nerr := strconv.ParseInt(text, 10, 64); nerr == nil {
		at, err = time.Unix(seconds, 0), nil
	}
	if err != nil {
		return nil
	}
	return query.Order{Path: query.Path{"updateTime"}, Op: "lt", Value: query.TimeValue(at)}
}

// addTimes adds the times in the body of a batch delete. Without a body there are none.
func (f *filter) addTimes(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var times struct {
		UpdateTimeBegin, UpdateTimeEnd int64
	}
	if err := rawjson.Valid(body); err != nil {
		return fmt.Errorf("the request's body: %w", err)
	}
	if err := json.Unmarshal(body, &times); err != nil {
		return fmt.Errorf("the request's body: %w", err)
	}
	var all query.All
	if f.cond != nil {
		all = append(all, f.cond)
	}
	for op, seconds := range map[string]int64{"gt": times.UpdateTimeBegin, "lt": times.UpdateTimeEnd} {
		if seconds > 0 {
			all = append(all, query.Order{Path: query.Path{"updateTime"}, Op: op, Value: query.TimeValue(time.Unix(seconds, 0))})
		}
	}
	if len(all) > 0 {
		f.cond = all
	}
	return nil
}

// page cuts limit elements out after offset; limit 0 is all.
func page[T any](all []T, offset, limit int) []T {
	all = all[min(offset, len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}

// matching keeps the documents a condition selects.
func matching[T query.Document](docs []T, cond query.Condition) []T {
	if cond == nil {
		return docs
	}
	return slices.DeleteFunc(docs, func(d T) bool { return !cond.Match(d) })
}

// render is a JSON array of projected documents.
func render[T query.Document](docs []T, p query.Projection) []byte {
	b := []byte{'['}
	for i, d := range docs {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.Append(b, d)
	}
	return append(b, ']')
}

func sorted(v url.Values) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
