package storage

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPages: a long page may take its time while something comes. What stops midway, or is
// longer than is read, is too large a page, and says nothing about the endpoint. What never
// begins, headers or not, is a read that was not answered.
func TestPages(t *testing.T) {
	const timeout, rows = 200 * time.Millisecond, 8
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		flush := w.(http.Flusher).Flush
		switch r.URL.Query().Get("offset") {
		case "0": // slow
			_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[{"resourceName":"0"}`)
			for i := 1; i < rows; i++ {
				flush()
				time.Sleep(timeout / 2)
				_, _ = fmt.Fprintf(w, `,{"resourceName":"%d"}`, i)
			}
			_, _ = io.WriteString(w, "]}")
		case "1": // stops
			_, _ = io.WriteString(w, `{"result":true`)
			flush()
			<-r.Context().Done()
		case "3", "4": // silent
			if r.URL.Query().Get("offset") == "4" {
				flush()
			}
			<-r.Context().Done()
		default: // long
			_, _ = io.WriteString(w, strings.Repeat("x", 2000))
		}
	})
	c := client(t, timeout, server.URL)
	c.cfg.MaxResponse = 1000
	recs, err := c.List(t.Context(), "Pod", "", "resourceName", 10, 0)
	if err != nil || len(recs) != rows {
		t.Errorf("a slow page: %d records, %v", len(recs), err)
	}
	for _, offset := range []int{1, 2} {
		if _, err := c.List(t.Context(), "Pod", "", "resourceName", 10, offset); !TooLarge(err) {
			t.Errorf("page %d: error %v is none of size", offset, err)
		}
	}
	if err := c.Reachable(); err != nil {
		t.Errorf("after pages that were too large: %v", err)
	}
	for _, offset := range []int{3, 4} {
		_, _ = c.List(t.Context(), "Pod", "", "resourceName", 10, 0)
		if _, err := c.List(t.Context(), "Pod", "", "resourceName", 10, offset); TooLarge(err) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a silent page: error %v", err)
		}
		if c.Reachable() == nil {
			t.Error("the endpoint is up after a read that was not answered")
		}
	}
}

// TestPagesShareConnections: a write on the connection that a page came by has its own time
// limit, whatever becomes of the page's context. It tells something under the race detector.
func TestPagesShareConnections(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
	})
	c := client(t, 0, server.URL)
	var both sync.WaitGroup
	defer both.Wait()
	for range 4 {
		both.Go(func() {
			for range 200 {
				if _, err := c.List(t.Context(), "Pod", "", "resourceName", 10, 0); err != nil {
					t.Error(err)
				}
				if err := c.Put(t.Context(), pod); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
