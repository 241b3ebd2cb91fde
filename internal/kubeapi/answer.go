package kubeapi

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

var gzips = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // of the level alone
	}
	return w
}}

// Answer writes an answer in pieces, compressed if the first is large and the client takes that.
type Answer struct {
	w    http.ResponseWriter
	from int          // size of the first piece from which on it is
	gzip bool         // until the first write: whether the client takes it
	gz   *gzip.Writer // nil: not compressed
}

var _ io.Writer = (*Answer)(nil)

// NewAnswer begins an answer to r, which is to be ended.
func NewAnswer(w http.ResponseWriter, r *http.Request, from int) *Answer {
	return &Answer{w: w, from: from, gzip: takesGzip(r)}
}

// takesGzip reports whether the client names gzip, without a weight: what else the header may say, as gzip;q=0 or *,
// an apiserver does not read either.
func takesGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// Plain reports whether an answer of one piece of that size will not be compressed.
func (a *Answer) Plain(size int) bool { return !a.gzip || size < a.from }

func (a *Answer) Write(p []byte) (int, error) {
	if a.gzip {
		a.gzip = false
		a.w.Header().Add("Vary", "Accept-Encoding")
		if len(p) >= a.from {
			a.w.Header().Set("Content-Encoding", "gzip")
			a.gz = gzips.Get().(*gzip.Writer)
			a.gz.Reset(a.w)
		}
	}
	if a.gz != nil {
		return a.gz.Write(p)
	}
	return a.w.Write(p)
}

// End writes what is left. That the client is gone is no mistake.
func (a *Answer) End() {
	if a.gz != nil {
		_ = a.gz.Close()
		a.gz.Reset(nil)
		gzips.Put(a.gz)
	}
}
