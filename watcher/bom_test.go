package watcher

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/userfile"
)

// TestTokenWithByteOrderMark: a mark of UTF-8 in a token's file is no part of the header, and
// UTF-16 is named.
func TestTokenWithByteOrderMark(t *testing.T) {
	sent := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r.Header.Get("Authorization") }))
	defer s.Close()
	path := filepath.Join(t.TempDir(), "token")
	client := func(text string) (*http.Client, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := &rest.Config{Host: s.URL, BearerTokenFile: path}
		if err := followToken(cfg, slog.New(slog.DiscardHandler)); err != nil {
			return nil, err
		}
		return rest.HTTPClientFor(cfg)
	}
	c, err := client("\ufefftoken\r\n")
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	resp, err := c.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := <-sent; got != "Bearer token" {
		t.Errorf("Authorization: %q", got)
	}
	var utf16 *userfile.UTF16Error
	if _, err := client("\xff\xfet\x00"); !errors.As(err, &utf16) {
		t.Errorf("UTF-16: %v", err)
	}
}
