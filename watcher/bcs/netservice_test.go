package bcs

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/object"
)

const (
	static = `{"type":9,"code":0,"message":"query statistic info succ","data":{"poolnum":2,"activeip":3}}`
	detail = `{"type":5,"code":0,"message":"ok","data":[{"net":"10.0.0.0","mask":24,"gateway":"10.0.0.1"}]}`
)

func TestAccept(t *testing.T) {
	for _, tc := range []struct {
		name, body, want, err string
		typ                   int
	}{
		{"static", static, `{"poolnum":2,"activeip":3}`, "", typeStatic},
		{"detail", detail, `[{"net":"10.0.0.0","mask":24,"gateway":"10.0.0.1"}]`, "", typePool},
		{"wrong type", static, "", "answer of type 9, want 5", typePool},
		{"refused", `{"type":9,"code":1,"message":"no pool"}`, "", "netservice refused: no pool", typeStatic},
		{"no code", `{"type":9,"data":{}}`, "", "refused", typeStatic},
		{"no data", `{"type":9,"code":0}`, "", "without data", typeStatic},
		{"html", `<html>`, "", "no netservice answer", typeStatic},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := accept([]byte(tc.body), 200, tc.typ)
			if string(got) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

type transport func(*http.Request) (int, string)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := f(r)
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r, Header: http.Header{}}, nil
}

type store chan string

func (s store) Put(_ context.Context, o *object.Object) error {
	s <- o.Key.String() + " " + string(o.Raw)
	return nil
}

// Both records at once and again every minute, with the headers of the contract;
// a round that fails is tried again soon.
func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stored := make(store, 8) // more than the test waits for
		var fail atomic.Bool
		var asked atomic.Int64
		w := NewNetService(NetServiceSettings{ClusterID: "BCS-K8S-90001", Store: stored, Logger: slog.New(slog.DiscardHandler),
			Client: &http.Client{Transport: transport(func(r *http.Request) (int, string) {
				if r.Header.Get("BCS-ClusterID") != "BCS-K8S-90001" || r.Header.Get("Accept") != "application/json" {
					t.Errorf("headers %v", r.Header)
				}
				if r.URL.Host != "n:1" || r.URL.Path != "/v1/pool/BCS-K8S-90001" {
					t.Errorf("asked %s", r.URL)
				}
				if r.URL.RawQuery == "info=detail" {
					return 200, detail
				}
				if fail.Load() {
					asked.Add(1)
					return 500, `{"code":1}`
				}
				return 200, static
			})}})
		w.SetServers([]string{"http://n:1"})
		w.SetServers(nil) // ignored
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		got := map[string]bool{<-stored: true, <-stored: true}
		want := map[string]bool{
			`IPPoolStatic/IPPoolStatic-BCS-K8S-90001 {"poolnum":2,"activeip":3}`:                                      true,
			`IPPoolStaticDetail/IPPoolStaticDetail-BCS-K8S-90001 [{"net":"10.0.0.0","mask":24,"gateway":"10.0.0.1"}]`: true,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		fail.Store(true)
		time.Sleep(netServicePeriod + 4*time.Second)
		if n := len(stored); n != 1 || asked.Load() != 1 {
			t.Errorf("%d stored, asked %d times; want 1 (the detail) and 1", n, asked.Load())
		}
		fail.Store(false)
		time.Sleep(again)
		if n := len(stored); n != 2 {
			t.Errorf("%d stored soon after the failure, want 2", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
