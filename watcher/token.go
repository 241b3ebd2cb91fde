package watcher

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/setting"
)

// followToken makes cfg's clients read the token's file anew for each request, so that
// a token which was replaced counts from the next request on. client-go by itself reads
// it again 50 s after the last time, also when the apiserver has refused the token
// meanwhile (transport.NewCachedFileTokenSource); by then the pauses between the tries of
// a watch have grown to half a minute and more. A watcher sends a few requests a minute
// and one every two seconds for a Lease: reading a file for each costs nothing.
func followToken(cfg *rest.Config, log *slog.Logger) error {
	if cfg.BearerTokenFile == "" {
		return nil
	}
	token, err := tokenFile(cfg.BearerTokenFile, "apiserver", 0, log)
	if err != nil {
		return err
	}
	cfg.BearerToken, cfg.BearerTokenFile = "", "" // or client-go would set the header, too
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bearer{token, next} })
	return nil
}

// storageTokenAge is how old the token for storage may be: a file is not read for each of
// thousands of requests a second.
const storageTokenAge = time.Second

// storageToken gives the token for requests to storage; nil where none is configured.
func storageToken(b config.BCS, log *slog.Logger) (func() (string, error), error) {
	switch {
	case b.CustomStorageToken != "":
		return func() (string, error) { return b.CustomStorageToken, nil }, nil
	case b.CustomStorageTokenFile != "":
		token, err := tokenFile(b.CustomStorageTokenFile, "storage", storageTokenAge, log)
		if err != nil {
			return nil, err
		}
		return func() (string, error) { return token.Get(), nil }, nil
	}
	return nil, nil
}

// tokenFile follows a file that somebody else replaces: kubelet, or whoever looks after a
// kubeconfig's tokenFile. A token younger than keep is not read again.
func tokenFile(path, of string, keep time.Duration, log *slog.Logger) (*setting.Latest[string], error) {
	last := ""
	return setting.NewLatest(func() (string, error) {
		token, err := readSecret(path)
		if err != nil {
			return "", fmt.Errorf("read the token for the %s: %w", of, err)
		}
		if last != "" && last != token {
			log.Info("the token for the "+of+" was replaced", "file", path)
		}
		last = token
		return token, nil
	}, keep, func(err error) { log.Warn("the last token for the "+of+" is used", "error", err) })
}

// readSecret reads the one line of a file that holds a secret. A path that may be the
// secret itself, put where its file belongs, is not in the error.
func readSecret(path string) (string, error) {
	data, err := userfile.ReadFile(path)
	shown := path
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "../") ||
		strings.ContainsFunc(path, unicode.IsControl) {
		shown = "the file named there (not shown, it does not start with / or ./ and may be the secret itself)"
	}
	secret := strings.TrimSpace(string(data))
	var cause *os.PathError
	switch {
	case errors.As(err, &cause):
		return "", fmt.Errorf("%s: %w", shown, cause.Err)
	case err != nil:
		return "", err
	case secret == "":
		return "", fmt.Errorf("%s is empty", shown)
	case strings.ContainsFunc(secret, unicode.IsControl):
		return "", fmt.Errorf("%s holds more than one line", shown)
	}
	return secret, nil
}

type bearer struct {
	token *setting.Latest[string]
	next  http.RoundTripper
}

var _ utilnet.RoundTripperWrapper = (*bearer)(nil)

// RoundTrip leaves the caller's request as it is.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token.Get())
	return b.next.RoundTrip(req)
}

// WrappedRoundTripper lets idle connections be closed.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.next }
