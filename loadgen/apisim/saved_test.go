package apisim_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestRestore: objects, uids and versions are those of the saved state, open watches end, and what is written
// afterwards gets versions that were given before.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		if _, err := s.Restore(); !errors.Is(err, apisim.ErrNothingSaved) {
			t.Errorf("restored nothing: %v", err)
		}
		kept := put(t, s, "a/changed", "") // 1001
		put(t, s, "a/deleted", "")         // 1002
		s.Save()
		open := watch(t, s, pods+"?watch=1&resourceVersion=1002")
		put(t, s, "a/changed", `"labels":{"x":"y"}`) // 1003
		remove(t, s, "a/deleted")                    // 1004
		since := put(t, s, "a/since", "")            // 1005
		open.expect("MODIFIED changed@1003", "DELETED deleted@1004", "ADDED since@1005")
		if v, err := s.Restore(); v != 1002 || err != nil || s.Version() != 1002 {
			t.Errorf("restored to %d, %v", v, err)
		}
		open.expect("EOF")
		l := getList(t, s, pods)
		if l.names() != "changed deleted" || l.Metadata.ResourceVersion != "1002" || l.Items[0].Metadata.UID != kept.UID || l.Items[0].Metadata.ResourceVersion != "1001" {
			t.Errorf("%+v", l)
		}
		again := put(t, s, "a/since", "")
		if again.ResourceVersion != 1003 || again.UID == since.UID {
			t.Errorf("%+v, before the restore %+v", again, since)
		}
		if _, err := s.Restore(); err != nil || getList(t, s, pods).names() != "changed deleted" {
			t.Errorf("a second time: %v", err)
		}
		watch(t, s, pods+"?watch=1&resourceVersion=1001").expect("ERROR 410", "EOF")
	})
}

// TestWatchFromTheFuture is what a kube-apiserver does with a version that it does not have yet: the watch is opened,
// silent, bookmarks included, until that version has come, and ends in order.
func TestWatchFromTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{BookmarkPeriod: time.Second})
		put(t, s, "a/p", "") // 1001
		const ahead = pods + "?watch=1&resourceVersion=1005&allowWatchBookmarks=true&timeoutSeconds="
		silent, began := watch(t, s, ahead+"30"), time.Now()
		put(t, s, "a/p", "") // 1002
		silent.expect("EOF")
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it ended after %s", d)
		}
		late := watch(t, s, ahead+"60")
		for range 4 {
			put(t, s, "a/p", "") // up to 1006
		}
		late.expect("MODIFIED p@1006", "BOOKMARK @1006")
	})
}

// TestRestoreOverHTTP: only the observer may, and only by POST.
func TestRestoreOverHTTP(t *testing.T) {
	s := newServer(t, apisim.Config{})
	ask := func(method, path, agent string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://apisim"+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", agent)
		resp, err := pipetest.Direct(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, c := range []struct {
		method, path, agent string
		want                int
	}{
		{http.MethodPost, apisim.PathRestore, apisim.Observer, http.StatusConflict},
		{http.MethodPost, apisim.PathSave, "curl", http.StatusNotFound},
		{http.MethodGet, apisim.PathSave, apisim.Observer, http.StatusNotFound},
		{http.MethodPost, apisim.PathSave, apisim.Observer, http.StatusOK},
		{http.MethodPost, apisim.PathRestore, apisim.Observer, http.StatusOK},
	} {
		if got := ask(c.method, c.path, c.agent); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
