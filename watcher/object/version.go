package object

import (
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Content returns the object's JSON and the buffer for the next call, buf or a larger
// one. With the next use of the buffer the JSON ends; nobody may write to either.
func (o *Object) Content(buf []byte) (raw, next []byte) {
	if o.packed.IsZero() {
		return o.Raw, buf
	}
	raw = o.unpack(buf)
	return raw, raw[:0]
}

// AppendVersion appends raw, one compact object, to dst with another
// metadata.resourceVersion, which it need not have had.
func AppendVersion(dst, raw []byte, version uint64) ([]byte, error) {
	m, err := Scan(raw)
	if err != nil {
		return dst, err
	}
	if m.Metadata.Empty() || raw[m.Metadata.Start] != '{' {
		return dst, ErrNoMetadata
	}
	at, found, err := lastMember(raw, m.Metadata, "resourceVersion")
	if err != nil {
		return dst, err
	}
	var number [22]byte
	text := append(strconv.AppendUint(append(number[:0], '"'), version, 10), '"')
	sp := splice{at, text}
	if !found {
		sp = insertLast(m.Metadata, append([]byte(`"resourceVersion":`), text...))
	}
	dst = append(append(dst, raw[:sp.at.Start]...), sp.text...)
	return append(dst, raw[sp.at.End:]...), nil
}

// MetadataOf is the metadata of an object, {} if it has none.
func MetadataOf(raw []byte) []byte {
	if m := jsonscan.Lookup(raw, "metadata"); jsonscan.IsObject(m) {
		return m
	}
	return []byte("{}")
}
