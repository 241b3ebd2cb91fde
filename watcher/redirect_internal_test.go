package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/call"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
)

// TestTokenStaysWithTheAPIServer: whatever asks the API server follows no redirect, so that
// nobody else gets the token, and says where the answer pointed.
func TestTokenStaysWithTheAPIServer(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	pod := collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	clients := map[string]func(ctx context.Context, kube *rest.Config) error{
		"discovery": func(ctx context.Context, kube *rest.Config) error {
			d, err := collector.NewDiscovery(kube)
			if err != nil {
				return err
			}
			defer d.Close()
			_, err = d.GroupsOf(ctx, func(string) bool { return true })
			return err
		},
		"list and watch": func(ctx context.Context, kube *rest.Config) error {
			c, err := collector.New(collector.Config{Resources: []collector.Resource{pod}}, collector.Settings{Client: kube, Sink: collector.Discard})
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			defer func() { cancel(); <-done }()
			for ctx.Err() == nil {
				if err := c.States()[0].Failed; err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		},
		"what is served": func(ctx context.Context, kube *rest.Config) error {
			w, err := New(standard(t, "http://127.0.0.1:1"), config.Filter{K8sResourceWhiteList: []string{"v1"}}, Settings{Kube: kube})
			if err != nil {
				return err
			}
			_, _, err = w.copying.served.look(ctx)
			return err
		},
		"Lease": func(ctx context.Context, kube *rest.Config) error {
			c := leader.For(0)
			c.Namespace, c.Name, c.Identity = "ns", "name", "me"
			e, err := leader.New(c, kube, log)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(ctx)
			unread := e.Trouble().Error() // before the first answer can be there
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx, func(context.Context) error { return nil }) }()
			defer func() { cancel(); <-done }()
			for ctx.Err() == nil {
				if err := e.Trouble(); err == nil || err.Error() != unread {
					return err
				}
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		},
		"review": func(ctx context.Context, kube *rest.Config) error {
			c := access.Default()
			c.Authentication, c.Port = access.TokenReview, 0
			g, err := access.New(c, access.Settings{Kube: kube, Logger: log})
			if err != nil {
				return err
			}
			return g.Authorize(ctx, access.User{Name: "ann"}, access.Attributes{Namespace: "ns"})
		},
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		var asked atomic.Int32
		var token atomic.Pointer[string]
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if sent := r.Header.Get("Authorization"); sent != "" {
				token.Store(&sent)
			}
			http.Error(w, "", http.StatusNotFound)
		}))
		defer other.Close()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/elsewhere?secret=1", status)
		}))
		defer srv.Close()
		for name, ask := range clients {
			t.Run(fmt.Sprintf("%s, %d", name, status), func(t *testing.T) {
				kube := &rest.Config{Host: srv.URL, BearerTokenFile: file}
				if err := followToken(kube, log); err != nil {
					t.Fatal(err)
				}
				asked.Store(0)
				token.Store(nil)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				err := ask(ctx, kube)
				if n := asked.Load(); n > 0 {
					t.Errorf("the other server was asked %d times, token %v", n, token.Load() != nil)
				}
				want := call.RedirectError{Status: status, From: srv.URL, To: other.URL}
				if got, ok := errors.AsType[*call.RedirectError](err); !ok || *got != want {
					t.Errorf("got %v, want %v", err, &want)
				}
			})
		}
	}
}
