package robustness

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/netutil"
)

// TestSlowClients: they take all connections of a server that cuts them off after a while, and are gone in the end.
func TestSlowClients(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ReadHeaderTimeout = 300 * time.Millisecond
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Listener = netutil.LimitListener(s.Listener, 5)
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := slowClients{Address: s.Listener.Addr().String(), CAFile: ca, Count: 40, For: 1500 * time.Millisecond}
	got, err := runSlow(t.Context(), c)
	if err != nil || got.Asked != 40 || got.Connected != 40 || got.Shaken == 0 || got.Cut < 5 || got.Cut > 39 || got.Error != "" {
		t.Errorf("%+v, %v", got, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	c.Address, c.For = l.Addr().String(), 100*time.Millisecond
	if got, err := runSlow(t.Context(), c); err != nil || got.Connected != 0 || !strings.Contains(got.Error, "refused") {
		t.Errorf("nobody listens: %+v, %v", got, err)
	}
	c.CAFile = filepath.Join(t.TempDir(), "none")
	if _, err := runSlow(t.Context(), c); err == nil {
		t.Error("no CA, and no error")
	}
}

// TestAskingClients count their answers by status, and leave the CPUs to everybody else.
func TestAskingClients(t *testing.T) {
	threads := 0
	look := sync.OnceFunc(func() {
		tasks, _ := filepath.Glob("/proc/self/task/*/children")
		for _, path := range tasks {
			children, _ := os.ReadFile(path)
			for pid := range strings.FieldsSeq(string(children)) {
				if env, _ := os.ReadFile("/proc/" + pid + "/environ"); !strings.Contains(string(env), asSlow+"=") {
					continue
				}
				all, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
				for _, path := range all {
					data, err := os.ReadFile(path)
					_, stat, ok := strings.Cut(string(data), ") ")
					if fields := strings.Fields(stat); err == nil && ok { // it has not ended meanwhile
						if threads++; fields[16] != "19" {
							t.Errorf("thread %s runs with a priority of %s", path, fields[16])
						}
					}
				}
			}
		}
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		look()
		w.WriteHeader(http.StatusNotFound)
	}))
	defer s.Close()
	got, err := runSlow(t.Context(), slowClients{URL: s.URL, Count: 3, For: 500 * time.Millisecond})
	s.Close()
	if n := got.Answers[404]; err != nil || got.Asked != 3 || n < 3 || n > 40 || len(got.Answers) != 1 || threads == 0 {
		t.Errorf("%+v, %d threads, %v", got, threads, err)
	}
}
