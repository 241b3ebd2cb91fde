package storagemock_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// raw sends bytes on a new connection and returns all that comes back.
func raw(t testing.TB, addr, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The original watcher's requests, byte for byte as contract §1.2 describes them.
func TestOriginalWatchersRequests(t *testing.T) {
	m := start(t, nil)
	addr := m.Addrs()[0]
	headers := "Host: " + addr + "\r\nUser-Agent: Go-http-client/1.1\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"
	body := `{"data":{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:basic-user","uid":"u"}}}`
	base := "/bcsstorage/v1/k8s/dynamic/cluster_resources/clusters/BCS-K8S-90001/ClusterRole"
	for _, tc := range []struct{ request, want string }{
		{fmt.Sprintf("PUT %s/system:basic-user HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", base, headers, len(body), body), `{"result":true,"code":0,"message":"success","data":{}}`},
		{fmt.Sprintf("GET %s?field=resourceName HTTP/1.1\r\n%s\r\n", base, headers), `"resourceName":"system:basic-user"}]}`},
		{fmt.Sprintf("DELETE %s/system:basic-user HTTP/1.1\r\n%s\r\n", base, headers), `{"result":true,"code":0,"message":"success","data":{}}`},
	} {
		got := raw(t, addr, tc.request)
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, tc.want) || !strings.Contains(got, "Connection: close\r\n") || strings.Contains(got, "gzip") {
			t.Errorf("%s\ngot %s", tc.request, got)
		}
	}
}

// What is no HTTP is refused by the framework, as by the real server; what is no document gets an envelope.
func TestUnreadableRequests(t *testing.T) {
	m := start(t, nil)
	if got := raw(t, m.Addrs()[0], "hello\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("got %s", got)
	}
	deep := `{"data":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`
	if status, body := m.api("PUT", podPath+"deep", deep); status != 200 || !strings.Contains(body, "nests deeper than 100 levels") {
		t.Errorf("deep JSON: %d %s", status, body)
	}
}

// No answer comes before its time, however late others were.
func TestLatencyIsKept(t *testing.T) {
	m := start(t, func(c *storagemock.Config) { c.Latency = "method=PUT: 5ms; 0s" })
	const senders, each = 20, 30
	var wg sync.WaitGroup
	for w := range senders {
		wg.Go(func() {
			for i := range each {
				if status, body := m.api("PUT", podPath+fmt.Sprint("p", w, "-", i), `{"data":{}}`); status != 200 {
					t.Errorf("%d %s", status, body)
				}
			}
		})
	}
	wg.Wait()
	early, seen := 0, 0
	for e := range m.Ledger().From(1) {
		seen++
		// The wall clock may be slewed while a request takes its time.
		if took := time.Duration(e.Responded - e.Received); took < 5*time.Millisecond-50*time.Microsecond || e.Applied > e.Responded {
			early++
			t.Logf("request %d took %s, applied %s before its answer", e.Seq, took, time.Duration(e.Responded-e.Applied))
		}
	}
	if early > 0 || seen != senders*each {
		t.Errorf("%d of %d answers came early, want none of %d", early, seen, senders*each)
	}
}

func TestInstancesShareStateAndLedger(t *testing.T) {
	m := start(t, func(c *storagemock.Config) { c.Instances = 3 })
	for i, addr := range m.Addrs() {
		if status, body := m.do("PUT", "http://"+addr+"/bcsstorage/v1"+podPath+fmt.Sprint("p", i), `{"data":{}}`); status != 200 {
			t.Fatal(body)
		}
	}
	list := m.must("GET", strings.TrimSuffix(podPath, "/")+"?field=resourceName", "")
	if strings.Count(list, "resourceName") != 3 {
		t.Errorf("list: %s", list)
	}
	seen := map[int]bool{}
	for e := range m.Ledger().From(1) {
		seen[e.Instance] = true
	}
	if len(seen) != 3 {
		t.Errorf("instances in the ledger: %v", seen)
	}
}

func TestPaging(t *testing.T) {
	m := start(t, nil)
	const n = 3001
	for i := range n {
		m.must("PUT", podPath+fmt.Sprint("p", i), `{"data":{"metadata":{}}}`)
	}
	list := strings.TrimSuffix(podPath, "/") + "?field=resourceName"
	if got := strings.Count(m.must("GET", list, ""), `"_id"`); got != 3000 {
		t.Errorf("without a limit: %d, want the default of 3000", got)
	}
	seen := map[string]bool{}
	for offset := 0; ; offset += 500 {
		page := m.must("GET", fmt.Sprintf("%s&limit=500&offset=%d", list, offset), "")
		names := strings.Split(page, `"resourceName":"`)[1:]
		for _, s := range names {
			seen[s[:strings.IndexByte(s, '"')]] = true
		}
		if len(names) < 500 {
			break
		}
	}
	if len(seen) != n {
		t.Errorf("%d names in pages, want %d", len(seen), n)
	}
}

func TestAdmin(t *testing.T) {
	m := start(t, nil)
	m.must("PUT", podPath+"x", `{"data":{"metadata":{"uid":"u1"},"spec":{`+"\n"+`"a":"b\nc"}}}`)
	m.must("PUT", podPath+"y", `{"data":{}}`)
	m.must("PUT", podPath+"x", `{"data":{"metadata":{"uid":"u1"},"spec":{`+"\n"+`"a":"b\nc"}}}`)

	ledgerOf := func() (n int, last ledger.Entry) {
		req, _ := http.NewRequest(http.MethodGet, m.admin.URL+"/ledger", nil)
		req.Header.Set("Accept-Encoding", "zstd")
		resp, err := m.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.Header.Get("Content-Encoding") != "zstd" {
			t.Error("the ledger came uncompressed")
		}
		path := filepath.Join(t.TempDir(), "ledger")
		f, err := os.Create(path)
		if err == nil {
			_, err = io.Copy(f, resp.Body)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		r, err := ledger.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for e, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			n, last = n+1, e
		}
		return n, last
	}
	if n, last := ledgerOf(); n != 3 || last.Seq != 3 || last.Effect != ledger.EffectReplaced {
		t.Errorf("ledger: %d, %+v", n, last)
	}
	wantState := `{"cluster":"C","kind":"Pod","namespace":"a","name":"x","data":{"metadata":{"uid":"u1"},"spec":{"a":"b\nc"}}}` + "\n" +
		`{"cluster":"C","kind":"Pod","namespace":"a","name":"y","data":{}}` + "\n"
	if _, state := m.do("GET", m.admin.URL+"/state", ""); state != wantState {
		t.Errorf("state: %s", state)
	}
	for ns, want := range map[string]string{"a": wantState, "b": ""} {
		if _, state := m.do("GET", m.admin.URL+"/state?namespace="+ns, ""); state != want {
			t.Errorf("state of namespace %s: %s", ns, state)
		}
	}
	wantFormer := `{"cluster":"C","kind":"Pod","namespace":"a","name":"x","data":{"metadata":{"uid":"u1"},"spec":{"a":"b\nc"}}}` + "\n"
	if _, state := m.do("GET", m.admin.URL+"/state?former=true", ""); state != wantFormer {
		t.Errorf("former state: %s", state)
	}
	_, snapshot := m.do("GET", m.admin.URL+"/snapshot", "")

	// Tampering leaves no trace in the ledger.
	key := "?cluster=C&kind=Pod&namespace=a&name="
	if status, body := m.do("DELETE", m.admin.URL+"/state"+key+"y", ""); status != 200 || body != `{"effect":"deleted"}`+"\n" {
		t.Errorf("remove: %d %s", status, body)
	}
	if status, body := m.do("PUT", m.admin.URL+"/state"+key+"x", `{"edited":true}`); status != 200 || body != `{"effect":"replaced"}`+"\n" {
		t.Errorf("edit: %d %s", status, body)
	}
	if got := m.must("GET", podPath+"x?field=data", ""); !strings.Contains(got, `"data":{"edited":true}`) || m.Ledger().Len() != 3 {
		t.Errorf("after tampering: %s, %d entries", got, m.Ledger().Len())
	}
	if err := m.Store().Load(strings.NewReader(snapshot)); err != nil {
		t.Errorf("load: %v", err)
	}
	if _, state := m.do("GET", m.admin.URL+"/state", ""); state != wantState {
		t.Errorf("state after loading the snapshot: %s", state)
	}

	for _, bad := range []struct{ method, path, body string }{
		{"PUT", "/state", "{}"}, {"PUT", "/state" + key + "x", "{"},
	} {
		if status, body := m.do(bad.method, m.admin.URL+bad.path, bad.body); status != 400 || strings.Count(body, "\n") != 1 {
			t.Errorf("%+v: %d %q", bad, status, body)
		}
	}
	if status, _ := m.do("GET", m.admin.URL+"/debug/pprof/", ""); status != 404 {
		t.Errorf("pprof answers %d though nobody asked for it", status)
	}
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	m := start(t, func(c *storagemock.Config) { c.TLSCert, c.TLSKey = cert, key })
	b, state, err := overTLS(m.base, &tls.Config{InsecureSkipVerify: true})
	if err != nil || !bytes.Contains(b, []byte("1405087")) || state.Version != tls.VersionTLS13 {
		t.Errorf("got %s by %s, %v", b, tls.VersionName(state.Version), err)
	}
}

func TestResetOverTLS(t *testing.T) {
	cert, key := certificate(t)
	m := start(t, func(c *storagemock.Config) { c.TLSCert, c.TLSKey, c.Faults = cert, key, "reset" })
	if b, _, err := overTLS(m.base, &tls.Config{InsecureSkipVerify: true}); err == nil || !strings.Contains(err.Error(), "reset by peer") {
		t.Errorf("got %s, %v", b, err)
	}
}

// A connection without a request must not make the server use up its grace.
func TestStopDoesNotWaitForUnusedConnections(t *testing.T) {
	cert, key := certificate(t)
	m := start(t, func(c *storagemock.Config) { c.TLSCert, c.TLSKey = cert, key })
	conn, err := tls.Dial("tcp", m.Addrs()[0], &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begin := time.Now()
	m.stop()
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

// TestOldTLS: it refuses clients that require TLS 1.2, and no others.
func TestOldTLS(t *testing.T) {
	cert, key := certificate(t)
	m := start(t, func(c *storagemock.Config) { c.TLSCert, c.TLSKey, c.OldTLS = cert, key, true })
	if _, state, err := overTLS(m.base, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}); err != nil || state.Version != tls.VersionTLS11 {
		t.Errorf("%s, %v", tls.VersionName(state.Version), err)
	}
	if _, _, err := overTLS(m.base, &tls.Config{InsecureSkipVerify: true}); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Error(err)
	}
}

// certificate writes a pair; httptest's is as good as any.
func certificate(t *testing.T) (cert, key string) {
	fixture := httptest.NewUnstartedServer(nil)
	fixture.StartTLS()
	pair := fixture.TLS.Certificates[0]
	fixture.Close()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, cert, "CERTIFICATE", pair.Certificate[0])
	writeKey(t, key, pair.PrivateKey)
	return cert, key
}

// overTLS asks for an object that is not there.
func overTLS(base string, c *tls.Config) ([]byte, tls.ConnectionState, error) {
	tr := &http.Transport{TLSClientConfig: c}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("https" + strings.TrimPrefix(base, "http") + podPath + "x")
	if err != nil {
		return nil, tls.ConnectionState{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return b, *resp.TLS, err
}

func TestConfigErrors(t *testing.T) {
	for want, edit := range map[string]func(*storagemock.Config){
		"--allow-remote":         func(c *storagemock.Config) { c.Listen = "0.0.0.0:0" },
		"want host:port":         func(c *storagemock.Config) { c.Listen = "127.0.0.1" },
		"0 to 65535":             func(c *storagemock.Config) { c.Listen = "127.0.0.1:http" },
		"want 1 to 255":          func(c *storagemock.Config) { c.Instances = 0 },
		"do not fit":             func(c *storagemock.Config) { c.Listen, c.Instances = "127.0.0.1:65535", 2 },
		"needs its key":          func(c *storagemock.Config) { c.TLSCert = "x" },
		"like 87ms":              func(c *storagemock.Config) { c.Latency = "fast" },
		"capacity":               func(c *storagemock.Config) { c.Capacity = "big" },
		"faithful or":            func(c *storagemock.Config) { c.Mode = "strict" },
		"fault":                  func(c *storagemock.Config) { c.Faults = "explode" },
		"no such file":           func(c *storagemock.Config) { c.TLSCert, c.TLSKey = "/nonexistent", "/nonexistent" },
		"address already in use": func(c *storagemock.Config) { c.Listen = busy(t) },
	} {
		cfg := storagemock.DefaultConfig()
		edit(&cfg)
		if _, err := storagemock.New(cfg, storagemock.Settings{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	cfg := storagemock.DefaultConfig()
	cfg.Listen, cfg.AllowRemote = "0.0.0.0:0", true
	if err := cfg.Validate(); err != nil {
		t.Errorf("with AllowRemote: %v", err)
	}
}

// busy is an address that is taken until the test ends.
func busy(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestRunTwice(t *testing.T) {
	m := start(t, nil)
	m.must("PUT", podPath+"x", `{"data":{}}`)
	if err := m.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "before") {
		t.Errorf("got %v", err)
	}
}

// FuzzAPI sends one request of any method, path, query and body below the API. Whatever comes, the server answers
// something readable and lives.
func FuzzAPI(f *testing.F) {
	scripts, _ := filepath.Glob("testdata/*.requests")
	for _, script := range scripts {
		b, err := os.ReadFile(script)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			method, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			path, body, _ := strings.Cut(rest, " ")
			if path != "" && !strings.HasPrefix(line, "#") {
				f.Add(method, path, body)
			}
		}
	}
	m := start(f, nil)
	addr := m.Addrs()[0]
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if strings.ContainsAny(method+path, " \r\n") {
			return // not one request
		}
		got := raw(t, addr, fmt.Sprintf("%s /bcsstorage/v1%s HTTP/1.1\r\nHost: m\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body))
		if !strings.HasPrefix(got, "HTTP/1.1 ") {
			t.Fatalf("%q %q %q: %q", method, path, body, got)
		}
		_, answer, _ := strings.Cut(got, "\r\n\r\n")
		if strings.HasPrefix(got, "HTTP/1.1 200 ") && method != "HEAD" && !json.Valid([]byte(answer)) {
			t.Fatalf("%q %q %q: %q", method, path, body, got)
		}
	})
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeKey(t *testing.T, path string, key any) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, path, "PRIVATE KEY", der)
}
