package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzRead: whatever a file holds, the reader neither fails otherwise than with an *Error nor yields what cannot be
// written again.
func FuzzRead(f *testing.F) {
	whole := write(f, life(), 5)
	f.Add(whole)
	f.Add(whole[:len(whole)-7])
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// FuzzText is FuzzRead behind the checksum: it fuzzes the text.
func FuzzText(f *testing.F) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	for _, frame := range life() {
		f.Add(appendFrame(nil, &frame))
	}
	head, _ := json.Marshal(header)
	f.Fuzz(func(t *testing.T, text []byte) {
		check(t, enc.EncodeAll(append(append(bytes.Clone(head), '\n'), text...), nil))
	})
}

func check(t *testing.T, data []byte) {
	h, frames, err := read(t, data)
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
	if _, again, err := read(t, m.Bytes()); err != nil || len(again) != len(frames) {
		t.Fatalf("%d frames of %d: %v", len(again), len(frames), err)
	}
}
