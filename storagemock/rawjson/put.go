package rawjson

import (
	"fmt"
	"strconv"
)

// Meta is what the mock reads of a Kubernetes object's metadata. Fields that are
// absent, or of another type, are empty.
type Meta struct {
	Name, Namespace, UID string
	ResourceVersion      uint64
}

// Put is a request body {"data": …}, taken apart in one pass.
type Put struct {
	Data []byte // the value of data, a slice of the body; nil when there is none
	Meta Meta   // of data, when it is an object
}

// ParsePut validates body and finds data and its metadata. The body must be an
// object, or null, which counts as one without members: that is what the real
// server's decoder accepts.
func ParsePut(body []byte) (Put, error) {
	var p Put
	i := skipSpace(body, 0)
	if i < len(body) && body[i] != '{' {
		if err := Valid(body); err != nil {
			return p, err
		}
		if KindOf(body[i:]) == Null {
			return p, nil
		}
		return p, &SyntaxError{i, `an object like {"data": …}`}
	}
	end, err := eachMember(body, i, 0, func(key []byte, at int) (int, error) {
		if !keyIs(key, "data") {
			return Skip(body, at, 1)
		}
		next, meta, err := skipWithMeta(body, at, 1)
		p.Data, p.Meta = body[at:next], meta
		return next, err
	})
	if err != nil {
		return Put{}, err
	}
	if end = skipSpace(body, end); end != len(body) {
		return Put{}, &SyntaxError{end, "end of input"}
	}
	return p, nil
}

// ParseMeta reads the metadata of one Kubernetes object that is known to be valid.
func ParseMeta(obj []byte) Meta {
	_, meta, err := skipWithMeta(obj, 0, 0)
	if err != nil {
		return Meta{}
	}
	return meta
}

// skipWithMeta is Skip that also reads the metadata when the value is an object.
func skipWithMeta(b []byte, i, depth int) (int, Meta, error) {
	var meta Meta
	if i >= len(b) || b[i] != '{' {
		next, err := Skip(b, i, depth)
		return next, meta, err
	}
	next, err := eachMember(b, i, depth, func(key []byte, at int) (int, error) {
		if !keyIs(key, "metadata") || at >= len(b) || b[at] != '{' {
			return Skip(b, at, depth+1)
		}
		meta = Meta{}
		return eachMember(b, at, depth+1, func(key []byte, at int) (int, error) {
			end, err := Skip(b, at, depth+2)
			if err != nil || b[at] != '"' {
				return end, err
			}
			switch {
			case keyIs(key, "name"):
				meta.Name = Unquote(b[at:end])
			case keyIs(key, "namespace"):
				meta.Namespace = Unquote(b[at:end])
			case keyIs(key, "uid"):
				meta.UID = Unquote(b[at:end])
			case keyIs(key, "resourceVersion"):
				if n, err := strconv.ParseUint(string(b[at+1:end-1]), 10, 64); err == nil {
					meta.ResourceVersion = n
				}
			}
			return end, nil
		})
	})
	return next, meta, err
}

// eachMember walks the object at b[i]; visit gets each quoted key and the index
// of its value and returns the index after the value.
func eachMember(b []byte, i, depth int, visit func(key []byte, at int) (int, error)) (int, error) {
	if depth+1 > MaxDepth {
		return i, ErrTooDeep
	}
	if i >= len(b) || b[i] != '{' {
		return i, &SyntaxError{i, "an object"}
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, at, err := memberKey(b, i)
		if err != nil {
			return at, err
		}
		if i, err = visit(key, at); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = afterElement(b, i, '}'); err != nil || done {
			return i, err
		}
	}
}

// String names the object, for logs and errors.
func (m Meta) String() string {
	return fmt.Sprintf("%s/%s uid=%s resourceVersion=%d", m.Namespace, m.Name, m.UID, m.ResourceVersion)
}
