package readers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// requestLimit bounds a query; a watch has none.
	requestLimit = 30 * time.Second
	// maxBody bounds the body of a query: 100,000 objects of 5 KiB. maxDepth is how deep it may nest.
	maxBody  = 512 << 20
	maxDepth = 1000
)

// endpoint is a server that is read from. Its users bound the connections: each has one.
type endpoint struct {
	base string // URL without a slash at its end
	http *http.Client
}

func newEndpoint(cfg *rest.Config) (*endpoint, error) {
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	wrapped, err := rest.HTTPWrappersForConfig(cfg, &http.Transport{
		TLSClientConfig: tlsConfig, Protocols: protocols, DisableCompression: true, ReadBufferSize: 32 << 10,
		MaxIdleConnsPerHost: Connections + maxLists, IdleConnTimeout: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	base := cfg.Host
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	return &endpoint{base: strings.TrimSuffix(base, "/"), http: &http.Client{
		Transport:     wrapped,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (e *endpoint) request(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return e.http.Do(req)
}

func (e *endpoint) fetch(ctx context.Context, path string, buf *bytes.Buffer) (code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	buf.Reset()
	resp, err := e.request(ctx, path)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errBody, err)
	case n > maxBody:
		err = fmt.Errorf("%w: more than %d bytes", errBody, maxBody)
	}
	return resp.StatusCode, err
}

// list lists a collection at once, and returns the list's version.
func (e *endpoint) list(ctx context.Context, path string, item func(json []byte)) (version uint64, err error) {
	var buf bytes.Buffer
	code, err := e.fetch(ctx, path, &buf)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d: %.200s", code, buf.Bytes())
	}
	if err == nil {
		version, err = readList(buf.Bytes(), item)
	}
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", path, err)
	}
	return version, nil
}
