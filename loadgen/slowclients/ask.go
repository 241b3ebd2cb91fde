package slowclients

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// answerTime is how long a client waits for an answer.
	answerTime = 30 * time.Second
	// refusedPause is how long a client waits after a refusal, less than Retry-After says.
	refusedPause = 100 * time.Millisecond
)

// ask has the clients request the URL, each on a connection of its own, until ctx ends.
func ask(ctx context.Context, c Config) Seen {
	seen := Seen{Asked: int64(c.Count), Answers: map[int]int64{}}
	var mu sync.Mutex // guards seen
	var all sync.WaitGroup
	for range c.Count {
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: answerTime}
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				code, err := read(ctx, client, c.URL)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				seen.Answers[code]++
				if err != nil {
					seen.Error = err.Error()
				}
				mu.Unlock()
				if code != http.StatusOK {
					_ = lifecycle.Pause(ctx, refusedPause) // an end of ctx is seen above
				}
			}
		})
	}
	all.Wait()
	return seen
}

// read returns the status of an answer read to its end, 0 without one.
func read(ctx context.Context, client *http.Client, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	return resp.StatusCode, nil
}
