package object

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/pack"
)

// Packer compresses the objects of one kind.
type Packer = pack.Packer

// pack gives o the content that appendOut makes of the other arguments.
func (o *Object) pack(p *Packer, b []byte, head string, cuts []jsonscan.Range) {
	o.packed, o.Raw = p.Pack(func(dst []byte) []byte { return appendOut(dst, b, head, cuts) })
}

// HasContent reports whether the object's JSON is known. It is not for an object
// that was refused, of which only the identity is kept.
func (o *Object) HasContent() bool { return o.Raw != nil || !o.packed.IsZero() }

// JSON returns the whole object as one compact JSON value. It may be shared: nobody may write to it.
func (o *Object) JSON() []byte {
	if o.packed.IsZero() {
		return o.Raw
	}
	return o.unpack(nil)
}

// Unpacked returns the object with its content as Raw, for repeated reads, and the buffer that it is in: buf, or a
// larger one. It ends with the next use of the buffer. One that is not packed is returned as it is.
func (o *Object) Unpacked(buf []byte) (*Object, []byte) {
	if o.packed.IsZero() {
		return o, buf
	}
	raw := o.unpack(buf)
	return o.With(raw), raw
}

// unpack decodes the content into buf, if that is large enough.
func (o *Object) unpack(buf []byte) []byte {
	raw, err := o.packed.Unpack(buf)
	if err != nil {
		panic(fmt.Sprintf("object %s: %v", o.Key, err)) // only this package writes packed, and nobody writes to it later
	}
	return raw
}
