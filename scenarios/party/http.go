package party

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
)

// Bounds on the requests to our own processes over loopback.
const (
	startLimit = 10 * time.Second // of the mock and the watcher's sockets
	askTimeout = 5 * time.Second  // one scrape
	fetchLimit = 10 * time.Minute // a whole ledger or state, of up to a million objects
)

// newClient keeps a few connections to one process and follows no redirect.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ask sends a request; an answer other than success is a *StatusError. The caller closes the body.
func ask(ctx context.Context, c *http.Client, method, url string, body io.Reader, header ...string) (*http.Response,
	error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err == nil {
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		var resp *http.Response
		if resp, err = c.Do(req); err == nil && resp.StatusCode/100 == 2 {
			return resp, nil
		} else if err == nil {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // as much as there is
			_ = resp.Body.Close()
			err = &StatusError{resp.StatusCode, fmt.Sprintf("it answers %s: %s", resp.Status, bytes.TrimSpace(text))}
		}
	}
	return nil, fmt.Errorf("%s %s: %w", method, url, err)
}

// get asks one of our processes; the caller closes the body.
func get(ctx context.Context, c *http.Client, url string, header ...string) (*http.Response, error) {
	return ask(ctx, c, http.MethodGet, url, nil, header...)
}

// answer reads the body of what ask returns.
func answer(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", resp.Request.Method, resp.Request.URL, err)
	}
	return data, nil
}

// maxAnswer bounds one answer that is read: a page of a list of large objects.
const maxAnswer = 256 << 20

// StatusError is an answer other than success.
type StatusError struct {
	Code int
	text string
}

func (e *StatusError) Error() string { return e.text }

// save writes the answer of one of our processes to a file.
func save(ctx context.Context, c *http.Client, url, path string, header ...string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resp, err := get(ctx, c, url, header...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save %s: %w", url, err)
	}
	_, err = io.Copy(f, resp.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("save %s: %w", url, err)
	}
	return nil
}

// scrape reads a /metrics endpoint: as text, and parsed.
func scrape(ctx context.Context, c *http.Client, url string) ([]byte, history.Scrape, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text, err := answer(get(ctx, c, url))
	if err != nil {
		return nil, nil, err
	}
	s, err := history.ParseScrape(bytes.NewReader(text))
	return text, s, err
}

// announcement is the line that mock and proxy print once they listen.
type announcement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin"`
}

// admin is the admin API of the mock or the proxy.
type admin struct {
	http *http.Client
	base string // URL
}

// Faults lists the faults in force with how often each fired.
func (a admin) Faults(ctx context.Context) ([]history.Firing, error) {
	data, err := a.call(ctx, http.MethodGet, "/faults", "")
	if err != nil {
		return nil, err
	}
	var list []history.Firing
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the faults in force: %w", err)
	}
	return list, nil
}

// Heal ends the faults and returns how often each fired.
func (a admin) Heal(ctx context.Context) ([]history.Firing, error) {
	fired, err := a.Faults(ctx)
	if err != nil {
		return nil, err
	}
	_, err = a.call(ctx, http.MethodDelete, "/faults", "")
	return fired, err
}

// call sends a request and returns the answer's body.
func (a admin) call(ctx context.Context, method, path, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return answer(ask(ctx, a.http, method, a.base+path, strings.NewReader(body)))
}
