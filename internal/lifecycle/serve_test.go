package lifecycle

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestServe: a request that is under way when ctx ends is answered within the
// grace and cut after it.
func TestServe(t *testing.T) {
	for _, tc := range []struct {
		name     string
		grace    time.Duration
		answered bool
	}{{"within the grace", time.Minute, true}, {"without one", 0, false}} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			arrived := make(chan struct{})
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-ctx.Done()
				if !tc.answered {
					<-r.Context().Done()
				}
				_, _ = io.WriteString(w, "ok")
			})}
			ended, answered := make(chan error), make(chan bool)
			go func() { ended <- Serve(ctx, srv, l, tc.grace) }()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			go func() {
				resp, err := client.Get("http://" + l.Addr().String())
				if err == nil {
					_ = resp.Body.Close()
				}
				answered <- err == nil
			}()
			<-arrived
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("ended with %v", err)
			}
			if got := <-answered; got != tc.answered {
				t.Errorf("answered: %t", got)
			}
		})
	}
}

// TestServeWaitsForNoFreshConnection: a connection on which nothing was asked delays
// the end by nothing.
func TestServeWaitsForNoFreshConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- Serve(ctx, &http.Server{Handler: http.NotFoundHandler()}, l, time.Minute)
	}()
	fresh, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	// Connections are accepted in turn: after an answer, the fresh one is the server's.
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	began := time.Now()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestServeReportsItsFailure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := Serve(t.Context(), &http.Server{}, l, 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
