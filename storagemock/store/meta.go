package store

import (
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// MaxDepth is how deep a stored object may nest. The real server keeps documents in MongoDB, which refuses more than
// 100 levels.
const MaxDepth = 100

// Meta has the fields of a Kubernetes object's metadata that the mock reads. Fields that are absent, or no strings, are
// empty.
type Meta struct {
	Name, Namespace, UID string
	ResourceVersion      uint64
}

// ParseMeta reads the metadata of an object that is known to be valid.
func ParseMeta(obj []byte) Meta {
	s := jsonscan.New(obj)
	_, meta, err := ScanObject(&s, obj, MaxDepth)
	if err != nil {
		return Meta{}
	}
	return meta
}

// ScanObject consumes the next value of s, which scans b, and reads its metadata if it is an object. The value may nest
// at most limit levels deep.
func ScanObject(s *jsonscan.Scanner, b []byte, limit int) (value jsonscan.Range, meta Meta, err error) {
	c, err := s.Peek()
	if err != nil || c != '{' {
		value, err = s.ValueWithin(limit)
		return value, meta, err
	}
	start := s.Pos()
	err = s.Object(func(key jsonscan.Str) error {
		if c, err := s.Peek(); err != nil || c != '{' || !key.Is(b, "metadata") {
			_, err := s.ValueWithin(limit - 1)
			return err
		}
		meta = Meta{}
		return s.Object(func(key jsonscan.Str) error {
			v, err := s.ValueWithin(limit - 2)
			if err == nil {
				meta.set(key, v, b)
			}
			return err
		})
	})
	return jsonscan.Range{Start: start, End: s.Pos()}, meta, err
}

// set takes one member of metadata.
func (m *Meta) set(key jsonscan.Str, value jsonscan.Range, b []byte) {
	v := value.Of(b)
	switch {
	case key.Is(b, "name"):
		m.Name = jsonscan.Unquote(v)
	case key.Is(b, "namespace"):
		m.Namespace = jsonscan.Unquote(v)
	case key.Is(b, "uid"):
		m.UID = jsonscan.Unquote(v)
	case key.Is(b, "resourceVersion") && jsonscan.IsString(v):
		if n, err := strconv.ParseUint(string(v[1:len(v)-1]), 10, 64); err == nil {
			m.ResourceVersion = n
		}
	}
}
