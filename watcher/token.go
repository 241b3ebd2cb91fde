package watcher

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/watcher/config"
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
	f := &tokenFile{path: cfg.BearerTokenFile, of: "apiserver", log: log}
	if _, err := f.read(); err != nil {
		return err
	}
	cfg.BearerToken, cfg.BearerTokenFile = "", "" // or client-go would set the header, too
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bearer{file: f, next: next} })
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
		f := &tokenFile{path: b.CustomStorageTokenFile, of: "storage", keep: storageTokenAge, log: log}
		_, err := f.token()
		return f.token, err
	}
	return nil, nil
}

// tokenFile is a file that somebody else replaces: kubelet, or whoever looks after a
// kubeconfig's tokenFile.
type tokenFile struct {
	path string
	of   string        // whom the token is for
	keep time.Duration // a token younger than that is not read again
	log  *slog.Logger

	mu     sync.Mutex
	last   string    // guarded by mu: what was last read
	at     time.Time // guarded by mu: when that was tried
	failed bool      // guarded by mu: reading fails, and that was said
}

func (f *tokenFile) read() (string, error) {
	token, err := readSecret(f.path)
	if err != nil {
		return "", fmt.Errorf("read the token for the %s: %w", f.of, err)
	}
	return token, nil
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

// token returns the file's content or, while it cannot be read, the last one.
func (f *tokenFile) token() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != "" && time.Since(f.at) < f.keep {
		return f.last, nil
	}
	t, err := f.read()
	f.at = time.Now()
	switch {
	case err == nil:
		if f.last != "" && f.last != t {
			f.log.Info("the token for the "+f.of+" was replaced", "file", f.path)
		}
		f.last, f.failed = t, false
	case f.last == "":
		return "", err
	case !f.failed:
		f.failed = true
		f.log.Warn("the last token for the "+f.of+" is used", "error", err)
	}
	return f.last, nil
}

// bearer adds the token to requests.
type bearer struct {
	file *tokenFile
	next http.RoundTripper
}

var _ utilnet.RoundTripperWrapper = (*bearer)(nil)

// RoundTrip leaves the caller's request as it is.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := b.file.token()
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as every RoundTripper must
		}
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(req)
}

// WrappedRoundTripper lets idle connections be closed.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.next }
