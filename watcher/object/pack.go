package object

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// A cached object is read once or twice in its life: when it is sent, and when
// somebody asks. Packed it takes a fraction of the memory, and because less memory
// is written and collected, packing costs less than it saves: a 3 KiB pod packs in
// 0.7 µs against a dictionary of its own kind and unpacks in 0.1 µs.

const (
	// dictBytes is what a dictionary is made of: the first objects of the kind. The
	// format allows 64 KiB; what is looked up most is in the first few objects.
	dictBytes = 32 << 10
	// dictPart is the most that one object gives to a dictionary.
	dictPart = dictBytes / 4
	// dictEvery is how many objects must come before a second dictionary may be made,
	// and twice as many before each further one. A dictionary takes about 64 KiB with
	// its index and lives as long as the last object that was packed with it: of a kind
	// whose objects are never alike, one object in a thousand that stays would keep one
	// alive. So there are few: 18 after a hundred million objects.
	dictEvery = 1000
	// poorShare is the part of its size that an object packs to, above which it is
	// unlike the dictionary.
	poorShare = 0.4
	// keepScratch is the largest scratch buffer that is kept.
	keepScratch = 256 << 10
)

// Packer compresses the objects of one kind. Objects of a kind are much alike, so a
// few of them serve the others as dictionary. When later objects are unlike it, a
// new one is made of those, ever more rarely; objects that are packed keep theirs.
type Packer struct {
	mu     sync.Mutex // guards all below
	raw    []byte     // scratch
	packed []byte     // scratch
	dict   *s2.Dict   // nil until there is enough to make one of
	sample []byte     // of objects that are unlike dict
	since  int        // objects since dict was made
	every  int        // objects before the next may be made
}

// pack gives o the content that appendOut makes of the other arguments.
func (p *Packer) pack(o *Object, b []byte, head string, cuts []jsonscan.Range) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.raw = appendOut(p.raw[:0], b, head, cuts)
	if need := s2.MaxEncodedLen(len(p.raw)); need > cap(p.packed) {
		p.packed = make([]byte, need)
	}
	packed := p.packed[:cap(p.packed)]
	if p.dict != nil {
		packed = p.dict.Encode(packed, p.raw)
	} else {
		packed = s2.Encode(packed, p.raw)
	}
	if len(packed) < len(p.raw) {
		o.packed, o.dict = snug(packed), p.dict
	} else {
		o.Raw = snug(p.raw)
	}
	p.learn(len(packed))
	if cap(p.raw) > keepScratch {
		p.raw, p.packed = nil, nil
	}
}

// learn notes how well the object in p.raw packed, and makes a new dictionary when
// many did not.
func (p *Packer) learn(packed int) {
	p.since++
	if p.dict != nil && float64(packed) <= poorShare*float64(len(p.raw)) {
		return
	}
	room := min(dictBytes-len(p.sample), dictPart)
	p.sample = append(p.sample, p.raw[:min(len(p.raw), room)]...)
	if len(p.sample) < dictBytes || p.since < p.every {
		return
	}
	if dict := s2.MakeDict(p.sample, nil); dict != nil {
		p.dict = dict
	}
	p.sample, p.since, p.every = nil, 0, max(dictEvery, 2*p.every)
}

func snug(b []byte) []byte {
	out := make([]byte, len(b))
	copy(out, b)
	return out
}

// HasContent reports whether the object's JSON is known. It is not for an object
// that was refused, of which only the identity is kept.
func (o *Object) HasContent() bool { return o.Raw != nil || o.packed != nil }

// JSON returns the whole object as one compact JSON value. It may be shared: nobody
// may write to it.
func (o *Object) JSON() []byte {
	if o.packed == nil {
		return o.Raw
	}
	return o.unpack(nil)
}

// Unpacked returns the object with its content as Raw, for who reads that more than once,
// and the buffer that it is in: buf, or a larger one. With the next use of the buffer the
// object returned ends. One that is not packed is returned as it is.
func (o *Object) Unpacked(buf []byte) (*Object, []byte) {
	if o.packed == nil {
		return o, buf
	}
	raw := o.unpack(buf)
	return o.With(raw), raw
}

// unpack decodes the content into buf, if that is large enough.
func (o *Object) unpack(buf []byte) []byte {
	var raw []byte
	var err error
	if o.dict != nil {
		raw, err = o.dict.Decode(buf, o.packed)
	} else {
		raw, err = s2.Decode(buf, o.packed)
	}
	if err != nil {
		// Only this package writes packed, and nobody writes to it later.
		panic(fmt.Sprintf("object %s: packed content is damaged: %v", o.Key, err))
	}
	return raw
}
