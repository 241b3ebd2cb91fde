package trace

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzRead: whatever a file holds, the reader neither fails otherwise than with an *Error
// nor yields what cannot be written again.
func FuzzRead(f *testing.F) {
	whole := write(f, life(), 5)
	f.Add(whole)
	f.Add(whole[:len(whole)-7])
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// FuzzText is FuzzRead behind the checksum: it fuzzes the text of a block.
func FuzzText(f *testing.F) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	for _, frame := range life() {
		f.Add(appendFrame(nil, &frame), uint32(1))
	}
	start := write(f, nil, 1)
	start = start[:len(start)-len(endOf(f, start))]
	f.Fuzz(func(t *testing.T, text []byte, lines uint32) {
		packed := enc.EncodeAll(text, nil)
		p := preamble{version: Version, kind: framesBlock, number: 1, lines: lines, text: uint32(len(text)), packed: uint32(len(packed))}
		check(t, append(append(bytes.Clone(start), p.encode(packed)...), packed...))
	})
}

// endOf returns the end block of a trace.
func endOf(t testing.TB, data []byte) []byte {
	i := bytes.LastIndex(data, []byte(mark))
	if i < 8 {
		t.Fatal("no end")
	}
	return data[i-8:]
}

func check(t *testing.T, data []byte) {
	h, frames, err := read(data)
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	if h.Resources == nil {
		return
	}
	var m memory
	w, err := NewWriter(&m, h)
	if err != nil {
		t.Fatalf("header %+v: %v", h, err)
	}
	for _, frame := range frames {
		if err := w.Append(frame); err != nil {
			t.Fatalf("frame %+v: %v", frame, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, again, err := read(m.Bytes()); err != nil || len(again) != len(frames) {
		t.Fatalf("%d frames of %d: %v", len(again), len(frames), err)
	}
}
