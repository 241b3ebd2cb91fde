package apisim_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

func roundTrip(ctx context.Context, h http.HandlerFunc, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://host/path?q=1", body)
	if err != nil {
		return nil, err
	}
	return apisim.Direct(h).RoundTrip(req)
}

func TestDirectCarriesARequest(t *testing.T) {
	resp, err := roundTrip(t.Context(), func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", r.Method+" "+r.Host+" "+r.RequestURI+" "+string(text))
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK) // too late
		_, _ = io.WriteString(w, "one ")
		w.Header().Set("X-Late", "yes")
		_, _ = io.WriteString(w, "two")
	}, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || string(text) != "one two" || resp.Status != "418 I'm a teapot" || resp.Header.Get("X-Saw") != "POST host /path?q=1 body" || resp.Header.Get("X-Late") != "" {
		t.Errorf("%v %+v %q", err, resp, text)
	}
	_ = resp.Body.Close()
	resp, err = roundTrip(t.Context(), func(http.ResponseWriter, *http.Request) {}, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("a handler that does nothing: %v %+v", err, resp)
	}
	if text, err := io.ReadAll(resp.Body); err != nil || len(text) > 0 {
		t.Errorf("%v %q", err, text)
	}
	_ = resp.Body.Close()
}

func TestDirectBreaks(t *testing.T) {
	if resp, err := roundTrip(t.Context(), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("aborted before an answer: %v %v", resp, err)
	}
	resp, err := roundTrip(t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "half" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("aborted within an answer: %q %v", text, err)
	}
	_ = resp.Body.Close()
}

func TestDirectEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			if _, err := w.Write([]byte("x")); err == nil {
				t.Error("a write to nobody succeeded")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, err := roundTrip(ctx, quiet, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("body: %v", err)
		}
		_ = resp.Body.Close()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if resp, err := roundTrip(ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the header: %v %v", resp, err)
		}
	})
}
