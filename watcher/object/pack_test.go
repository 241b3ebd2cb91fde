package object_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

func build(t testing.TB, r *object.Recipe, raw []byte) *object.Object {
	t.Helper()
	m, err := object.Scan(raw)
	if err != nil {
		t.Fatal(err)
	}
	o, err := r.Build(raw, &m, "Pod", nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// variant is pod i with some content of its own, and of a family of its own.
func variant(i, family int) []byte {
	rng := rand.New(rand.NewPCG(uint64(i), uint64(family)))
	raw := podJSON(fmt.Sprintf("web-%d", i))
	for range 8 {
		n := rng.IntN(24)
		raw = bytes.Replace(raw, fmt.Appendf(nil, "value of setting number %d\"", n), fmt.Appendf(nil, "%x\"", rng.Uint64()), 1)
	}
	own := rand.New(rand.NewPCG(uint64(family), 9))
	var words []string
	for range 60 {
		words = append(words, fmt.Sprintf("%x", own.Uint32()))
	}
	return bytes.Replace(raw, []byte(`"schedulerName"`), []byte(`"family":"`+strings.Join(words, " ")+`","schedulerName"`), 1)
}

func TestPackedObjectsReadBack(t *testing.T) {
	packed, plain := object.Recipe{Packer: &object.Packer{}}, object.Recipe{}
	var all, want []*object.Object
	size, raw := 0, 0
	for i := range 5000 {
		v := variant(i, i/1500) // what the cluster runs changes
		o, p := build(t, &packed, v), build(t, &plain, v)
		all, want = append(all, o), append(want, p)
		size += o.Size()
		raw += p.Size()
		if !o.HasContent() || o.Key != p.Key || o.UID != p.UID {
			t.Fatalf("%d: %v %v", i, o, p)
		}
	}
	for i := range all {
		if !bytes.Equal(all[i].JSON(), want[i].Raw) {
			t.Fatalf("%d: %s\nwant %s", i, all[i].JSON(), want[i].Raw)
		}
	}
	t.Logf("%d bytes became %d, %.0f %%", raw, size, 100*float64(size)/float64(raw))
	if size*3 > raw {
		t.Errorf("%d bytes became %d: want a third at most", raw, size)
	}
}

func TestPackOddContent(t *testing.T) {
	packed, plain := object.Recipe{Packer: &object.Packer{}}, object.Recipe{}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		noise := make([]byte, rng.IntN(40)*rng.IntN(2000))
		for k := range noise {
			noise[k] = byte(' ' + 3 + rng.IntN(50))
		}
		v := fmt.Appendf(nil, `{"metadata":{"name":"n%d"},"x":"%s"}`, i, bytes.ReplaceAll(noise, []byte{'\\'}, nil))
		if got, want := build(t, &packed, v).JSON(), build(t, &plain, v).JSON(); !bytes.Equal(got, want) {
			t.Fatalf("%d: %d bytes, want %d", i, len(got), len(want))
		}
	}
	if o := object.Tombstone(&object.Meta{Name: "n"}, "Pod", nil); o.HasContent() || o.JSON() != nil || o.Size() != 0 {
		t.Error("a tombstone has content")
	}
}

func TestPackerIsSafeForConcurrentUse(t *testing.T) {
	packed, plain := object.Recipe{Packer: &object.Packer{}}, object.Recipe{}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 300 {
				v := variant(i, g)
				if o, p := build(t, &packed, v), build(t, &plain, v); !bytes.Equal(o.JSON(), p.JSON()) {
					t.Errorf("%d/%d differs", g, i)
				}
			}
		}()
	}
	wg.Wait()
}

func BenchmarkBuildPacked(b *testing.B) {
	r := object.Recipe{Packer: &object.Packer{}}
	for i := range 100 {
		build(b, &r, variant(i, 0))
	}
	raw := variant(101, 0)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := object.Scan(raw)
		if err != nil {
			b.Fatal(err)
		}
		o, err := r.Build(raw, &m, "Pod", nil)
		if err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(o)
	}
}

func BenchmarkUnpack(b *testing.B) {
	r := object.Recipe{Packer: &object.Packer{}}
	var o *object.Object
	for i := range 100 {
		o = build(b, &r, variant(i, 0))
	}
	b.SetBytes(int64(len(o.JSON())))
	b.ReportAllocs()
	for b.Loop() {
		o.JSON()
	}
}

// Unpacked has the content that JSON has, and needs no memory for it in a buffer that is large enough.
func TestUnpacked(t *testing.T) {
	recipe := object.Recipe{APIVersion: "v1", Kind: "Pod", Packer: &object.Packer{}}
	var buf []byte
	for i := range 500 {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"p%d","uid":"u"},"spec":{"env":%q}}`, i, strings.Repeat("setting=value ", 1+i%20))
		m, err := object.Scan(raw)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := recipe.Build(raw, &m, "Pod", nil)
		if err != nil {
			t.Fatal(err)
		}
		room := cap(buf)
		var o *object.Object
		if o, buf = packed.Unpacked(buf); !bytes.Equal(o.JSON(), packed.JSON()) || o.Key != packed.Key || o.UID != packed.UID {
			t.Fatalf("%d: %s\nwant %s", i, o.JSON(), packed.JSON())
		}
		if len(o.JSON()) <= room && cap(buf) != room {
			t.Fatalf("%d: another buffer, of %d bytes, for %d", i, cap(buf), len(o.JSON()))
		}
	}
	plain := &object.Object{Raw: []byte(`{}`)}
	if o, same := plain.Unpacked(buf); o != plain || &same[0] != &buf[0] {
		t.Error("an object that is not packed was copied")
	}
}
