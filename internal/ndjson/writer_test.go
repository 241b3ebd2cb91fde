package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// file is a log in memory that fails after a number of bytes, if limit is not 0.
type file struct {
	bytes.Buffer
	limit  int
	closed bool
}

func (f *file) Write(p []byte) (int, error) {
	if f.limit > 0 && f.Len()+len(p) > f.limit {
		return 0, errors.New("no space left")
	}
	return f.Buffer.Write(p)
}

func (f *file) Close() error { f.closed = true; return nil }

func newWriter(t *testing.T, f *file) *Writer[string] {
	w, err := NewWriter(f, Format[string]{
		What: "test", Line: func(b []byte, text *string) []byte { return append(append(b, *text...), '\n') },
		Seal: func(records int64) string { return fmt.Sprint("sealed ", records) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRunWritesWithoutBeingAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &file{}
		w := newWriter(t, f)
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = w.Run(ctx) }()
		for i := range 100_000 {
			w.Append(fmt.Sprint("record ", i, i*i))
		}
		time.Sleep(2 * flushEvery)
		synctest.Wait()
		if f.Len() == 0 {
			t.Error("nothing was written")
		}
		w.mu.Lock()
		if len(w.buf) != 0 {
			t.Errorf("%d bytes still wait", len(w.buf))
		}
		w.mu.Unlock()
		stop()
		synctest.Wait()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBufferIsBounded(t *testing.T) {
	f := &file{}
	w := newWriter(t, f)
	long := strings.Repeat("x", 1000)
	for range 3 * maxBuffered / 1000 {
		w.Append(long)
		if len(w.buf) > maxBuffered {
			t.Fatalf("%d bytes wait, limit %d", len(w.buf), maxBuffered)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskIsReported(t *testing.T) {
	f := &file{limit: 10}
	w := newWriter(t, f)
	w.Append("one")
	if err := w.Checkpoint(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("checkpoint: %v", err)
	}
	if err := w.Close(); err == nil || !f.closed {
		t.Errorf("close: %v, file closed %t", err, f.closed)
	}
}
