package readers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

const (
	// requestLimit bounds a query; a watch has none.
	requestLimit = 30 * time.Second
	// maxBody bounds the body of a query: 100,000 objects of 5 KiB.
	maxBody = 512 << 20
	// maxDepth bounds how deep an answer may nest.
	maxDepth = 1000
)

// endpoint is a server that is read from.
type endpoint struct {
	base string // URL without a slash at its end
	http *http.Client
}

// newEndpoint prepares connections, at most conns of them; 0 is no bound.
func newEndpoint(cfg *rest.Config, conns int) (*endpoint, error) {
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	t := &http.Transport{
		TLSClientConfig: tlsConfig, Protocols: protocols, DisableCompression: true,
		MaxConnsPerHost: conns, MaxIdleConnsPerHost: max(conns, 2), ReadBufferSize: 32 << 10, IdleConnTimeout: time.Minute,
	}
	wrapped, err := rest.HTTPWrappersForConfig(cfg, t)
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

func (e *endpoint) close() { e.http.CloseIdleConnections() }

func (e *endpoint) request(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return e.http.Do(req)
}

// errBody is a body without an end, or one that is too large.
var errBody = errors.New("the body is not complete")

// fetch reads a whole answer into buf.
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

// named is an object that exists.
type named struct{ path, uid string }

// listing is a complete list.
type listing struct {
	version uint64
	items   int64
}

// readList takes a whole list apart and shows its items.
func readList(data []byte, item func(json []byte)) (l listing, err error) {
	s := jsonscan.New(data)
	listed := false
	err = s.Object(func(key jsonscan.Str) error {
		if !key.Is(data, "items") {
			v, err := s.ValueWithin(maxDepth)
			if err == nil && key.Is(data, "metadata") {
				l.version, err = parseVersion(jsonscan.Unquote(jsonscan.Lookup(v.Of(data), "resourceVersion")))
			}
			return err
		}
		listed = true
		more, err := s.EnterArray()
		for more && err == nil {
			var v jsonscan.Range
			if v, err = s.ValueWithin(maxDepth); err != nil {
				break
			}
			l.items++
			if item != nil {
				item(v.Of(data))
			}
			more, err = s.NextElement()
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && !listed {
		err = errors.New("no list: it has no items")
	}
	return l, err
}

// readObject returns the uid of a whole object.
func readObject(data []byte) (uid string, err error) {
	if err := jsonscan.ValidWithin(data, maxDepth); err != nil {
		return "", err
	}
	return jsonscan.Unquote(jsonscan.Lookup(data, "metadata", "uid")), nil
}

func parseVersion(text string) (uint64, error) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %.40q: want a whole number", text)
	}
	return v, nil
}

// listAll lists a collection at once.
func (e *endpoint) listAll(ctx context.Context, path string, item func(json []byte)) (listing, error) {
	var buf bytes.Buffer
	code, err := e.fetch(ctx, path, &buf)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d: %.200s", code, buf.Bytes())
	}
	var l listing
	if err == nil {
		l, err = readList(buf.Bytes(), item)
	}
	if err != nil {
		return l, fmt.Errorf("list %s: %w", path, err)
	}
	return l, nil
}
