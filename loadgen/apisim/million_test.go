package apisim_test

import (
	"bufio"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

var million = flag.Bool("million", false, "stream a million objects of 3 KiB; takes minutes and 2 GiB")

// millionLimit is the memory that server and client together may take.
const millionLimit = 3 << 30

// TestMillion streams a million objects as a list in pages and as a streaming list.
func TestMillion(t *testing.T) {
	if !*million {
		t.Skip("takes minutes and 2 GiB; run with -million")
	}
	s := newServer(t, apisim.Config{})
	const n = 1_000_000
	began := time.Now()
	for i := range n {
		if _, err := s.Apply("pods", podBytes(i)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("made in %s", time.Since(began))
	srv := httptest.NewServer(s)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	began = time.Now()
	if got := countPages(t, client, srv.URL); got != n {
		t.Errorf("%d objects in pages", got)
	}
	t.Logf("listed in pages of 10,000 in %s", time.Since(began))
	began = time.Now()
	if got := countStream(t, client, srv.URL); got != n {
		t.Errorf("%d objects streamed", got)
	}
	t.Logf("streamed in %s", time.Since(began))
	p, err := procstat.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	u, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak memory %d MiB", u.RSSHighest>>20)
	if u.RSSHighest > millionLimit {
		t.Errorf("peak memory %d MiB, want at most %d", u.RSSHighest>>20, millionLimit>>20)
	}
}

func countPages(t *testing.T, client *http.Client, url string) (n int) {
	t.Helper()
	for next := ""; ; {
		resp, err := client.Get(url + pods + "?limit=10000&continue=" + next)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		n += countItems(t, page)
		if next = jsonscan.Unquote(jsonscan.Lookup(page, "metadata", "continue")); next == "" {
			return n
		}
	}
}

func countItems(t *testing.T, page []byte) (n int) {
	t.Helper()
	items := jsonscan.Lookup(page, "items")
	s := jsonscan.New(items)
	more, err := s.EnterArray()
	for more && err == nil {
		n++
		if _, err = s.Value(); err == nil {
			more, err = s.NextElement()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func countStream(t *testing.T, client *http.Client, url string) (n int) {
	t.Helper()
	resp, err := client.Get(url + pods + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewReaderSize(resp.Body, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(line[:min(len(line), 20)]), `{"type":"BOOKMARK"`) {
			return n
		}
		n++
	}
}
