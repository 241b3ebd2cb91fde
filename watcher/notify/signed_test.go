package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/notify"
)

// example begins what docs/webhooks.md shows.

// verified returns the body of a request that was signed with the secret, whsec_…, less than
// five minutes ago.
func verified(r *http.Request, secret string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 4<<20))
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return nil, err
	}
	id, timestamp := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return nil, errors.New("too old: perhaps a copy of an earlier request")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	want := mac.Sum(nil)
	for signature := range strings.FieldsSeq(r.Header.Get("webhook-signature")) {
		version, text, _ := strings.Cut(signature, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(got, want) {
			return body, nil
		}
	}
	return nil, errors.New("not signed with this secret")
}

// example ends.

// TestReceiver: the receiver of docs/webhooks.md believes what is delivered to it, and nothing else.
func TestReceiver(t *testing.T) {
	own := must(os.ReadFile("signed_test.go"))
	page := must(os.ReadFile("../../docs/webhooks.md"))
	_, rest, _ := strings.Cut(string(own), "// example begins what docs/webhooks.md shows.\n\n")
	code, _, _ := strings.Cut(rest, "\n// example ends.")
	if !strings.Contains(string(page), "```go\n"+code+"```\n") {
		t.Errorf("docs/webhooks.md does not show this:\n%s", code)
	}

	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of thirty-two bytes, ok"))
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another one of thirty-two bytes."))
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		signs string
		spoil func(r *http.Request)
		ok    bool
	}{
		"signed":          {secret, nil, true},
		"two secrets":     {other + "\n" + secret, nil, true},
		"another secret":  {other, nil, false},
		"another body":    {secret, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}")) }, false},
		"another id":      {secret, func(r *http.Request) { r.Header.Set("webhook-id", "x") }, false},
		"an old one":      {secret, func(r *http.Request) { r.Header.Set("webhook-timestamp", "1614265330") }, false},
		"another version": {secret, func(r *http.Request) { r.Header.Set("webhook-signature", "v2"+r.Header.Get("webhook-signature")[2:]) }, false},
		"unsigned":        {secret, func(r *http.Request) { r.Header.Del("webhook-signature") }, false},
	} {
		write(tc.signs)
		var body []byte
		var refused error
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if tc.spoil != nil {
				tc.spoil(r)
			}
			body, refused = verified(r, secret)
		}))
		if err := hook(t, notify.Webhook{URL: s.URL, SecretFile: file}).Deliver(t.Context(), hookEvent); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if (refused == nil) != tc.ok || tc.ok && string(body) != string(hookEvent.Body) {
			t.Errorf("%s: %s, %v", name, body, refused)
		}
	}
}
