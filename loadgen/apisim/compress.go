package apisim

import (
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipFrom is the size from which an apiserver compresses an answer, gzipLevel how
// hard it tries.
const (
	gzipFrom  = 128 << 10
	gzipLevel = 1
)

var gzips = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzipLevel)
	if err != nil {
		panic(err) // of the level alone
	}
	return w
}}

// compressed holds an answer back until it is large enough to be compressed, for a
// client that takes that.
type compressed struct {
	http.ResponseWriter
	held   []byte
	status int
	gz     *gzip.Writer
}

// compress returns the writer for an answer to r, and what is to be called at its end.
func compress(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, func()) {
	if !strings.Contains(strings.Join(r.Header.Values("Accept-Encoding"), ","), "gzip") {
		return w, func() {}
	}
	c := &compressed{ResponseWriter: w, status: http.StatusOK}
	return c, c.end
}

func (c *compressed) WriteHeader(status int) { c.status = status }

func (c *compressed) Write(p []byte) (int, error) {
	if c.gz != nil {
		return c.gz.Write(p)
	}
	c.held = append(c.held, p...)
	if len(c.held) < gzipFrom {
		return len(p), nil
	}
	c.Header().Set("Content-Encoding", "gzip")
	c.Header().Add("Vary", "Accept-Encoding")
	c.ResponseWriter.WriteHeader(c.status)
	c.gz = gzips.Get().(*gzip.Writer)
	c.gz.Reset(c.ResponseWriter)
	if _, err := c.gz.Write(c.held); err != nil {
		return 0, err
	}
	c.held = nil
	return len(p), nil
}

// end sends what is left. That the client is gone is no mistake.
func (c *compressed) end() {
	if c.gz == nil {
		c.ResponseWriter.WriteHeader(c.status)
		_, _ = c.ResponseWriter.Write(c.held)
		return
	}
	_ = c.gz.Close()
	gzips.Put(c.gz)
}
