package storagemock

import (
	"bytes"
	"encoding/json"
)

// normalise returns a document as the real server answers it: it was decoded into Go's
// maps on its way into MongoDB and out of it, so keys come sorted and numbers as int64
// or double.
func normalise(doc []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return doc
	}
	out, err := json.Marshal(numbers(v))
	if err != nil { // a number that no double can hold
		return doc
	}
	return out
}

// numbers gives the numbers in v their type in the database.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
	}
	return v
}
