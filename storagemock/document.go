package storagemock

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// branch is one level of the tree of the paths that a projection keeps, by key. A nil branch keeps everything below it.
type branch map[string]branch

// parseProjection reads the paths of a field parameter; without any, all is kept. The identifier _id always is. If one
// path is the beginning of another, the shorter one counts.
func parseProjection(paths []string) (root branch) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if root == nil {
			root = branch{"_id": nil}
		}
		keys := strings.Split(path, ".")
		for b, i := root, 0; i < len(keys); i++ {
			child, known := b[keys[i]]
			if known && child == nil {
				break
			}
			if i == len(keys)-1 {
				child = nil
			} else if !known {
				child = branch{}
			}
			b[keys[i]] = child
			b = child
		}
	}
	return root
}

// keep returns the part of a value that the branch keeps; false if there is none.
func (b branch) keep(v any) (any, bool) {
	if b == nil {
		return v, true
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	kept := map[string]any{}
	for key, child := range b {
		if member, there := members[key]; there {
			if member, ok := child.keep(member); ok {
				kept[key] = member
			}
		}
	}
	return kept, true
}

// document returns what root keeps of a document, as the real server answers it: it was decoded into Go's maps on its
// way into MongoDB and out of it, so keys come sorted and numbers as int64 or double.
func document(fields iter.Seq2[string, []byte], root branch) []byte {
	all := map[string]any{}
	for name, text := range fields {
		child, wanted := root[name]
		if root != nil && !wanted {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var v any
		_ = dec.Decode(&v) // it was validated
		if v, ok := child.keep(numbers(v)); ok {
			all[name] = v
		}
	}
	out, _ := json.Marshal(all) // what was decoded can be encoded
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
