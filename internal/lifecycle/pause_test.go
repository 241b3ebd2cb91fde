package lifecycle

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Pause(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s, want a minute", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("reason")
		time.AfterFunc(time.Second, func() { cancel(reason) })
		began = time.Now()
		if err := Pause(ctx, time.Minute); !errors.Is(err, reason) || time.Since(began) != time.Second {
			t.Errorf("%v after %s, want the cause after a second", err, time.Since(began))
		}
		for _, d := range []time.Duration{0, -time.Second} {
			if err := Pause(ctx, d); !errors.Is(err, reason) {
				t.Errorf("%s with an ended context: %v", d, err)
			}
			if err := Pause(t.Context(), d); err != nil {
				t.Errorf("%s: %v", d, err)
			}
		}
	})
}

func TestServe(t *testing.T) {
	for _, tc := range []struct {
		name  string
		grace time.Duration
		whole bool // the answer under way at the end arrives
	}{{"within the grace", 10 * time.Second, true}, {"cut off", time.Millisecond, false}} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			stopped := make(chan struct{})
			s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				end()
				if tc.whole {
					<-stopped
				} else {
					<-r.Context().Done()
				}
				_, _ = io.WriteString(w, "whole")
			})}
			s.RegisterOnShutdown(func() { close(stopped) })
			done := make(chan error, 1)
			go func() { done <- Serve(ctx, s, l, tc.grace) }()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Get("http://" + l.Addr().String())
			if (err == nil) != tc.whole {
				t.Errorf("answer under way: %v, want it whole: %t", err, tc.whole)
			}
			if err == nil {
				if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "whole" {
					t.Errorf("%q, %v", b, err)
				}
				_ = resp.Body.Close()
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("listener fails", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if err := Serve(t.Context(), &http.Server{ReadHeaderTimeout: time.Second}, l, time.Second); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}
