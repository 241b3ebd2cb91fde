package slowclients

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/netutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write keeps the server's certificate as its CA.
func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun: they take all connections of a server that cuts them off after a while, and are
// gone in the end.
func TestRun(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ReadHeaderTimeout = 300 * time.Millisecond
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Listener = netutil.LimitListener(s.Listener, 5)
	s.StartTLS()
	defer s.Close()
	ca := write(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	got, err := Run(ctx, Config{Address: s.Listener.Addr().String(), CAFile: ca, Count: 40})
	if err != nil || got.Asked != 40 || got.Connected != 40 || got.Shaken == 0 || got.Cut < 5 || got.Cut > 39 || got.Error != "" {
		t.Errorf("%+v, %v", got, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got, err := Run(ctx, Config{Address: l.Addr().String(), CAFile: ca, Count: 2}); err != nil || got.Connected != 0 || !strings.Contains(got.Error, "refused") {
		t.Errorf("nobody listens: %+v, %v", got, err)
	}
}

func TestBadInput(t *testing.T) {
	for _, tc := range []struct {
		cfg  Config
		want string
	}{
		{Config{Address: "here", Count: 1}, "address: "},
		{Config{Address: "127.0.0.1:1", Count: 0}, "count: 0 is not 1 to 10000"},
		{Config{Address: "127.0.0.1:1", Count: MaxCount + 1}, "count: 10001 is not 1 to 10000"},
		{Config{Address: "127.0.0.1:1", Count: 1, CAFile: filepath.Join(t.TempDir(), "none")}, "no such file"},
		{Config{Address: "127.0.0.1:1", Count: 1, CAFile: write(t, []byte("x"))}, "no certificate in "},
	} {
		if _, err := Run(t.Context(), tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.cfg, err, tc.want)
		}
	}
}
