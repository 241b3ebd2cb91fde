package peer_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/storagemock/latency"
	"github.com/watchbench/watchbench/storagemock/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type peers struct {
	t                           *testing.T
	netservice, receiver, admin string
	client                      *http.Client
}

func start(t *testing.T, faults string) *peers {
	t.Helper()
	cfg := peer.DefaultConfig()
	cfg.Netservice, cfg.Receiver, cfg.Faults = "127.0.0.1:0", "127.0.0.1:0", faults
	g, err := peer.NewGroup(cfg, latency.SystemClock{}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	tr := &http.Transport{}
	p := &peers{t: t, client: &http.Client{Transport: tr, Timeout: 5 * time.Second}}
	p.netservice, p.receiver = g.Addrs()
	admin := httptest.NewServer(g.AdminHandler())
	p.admin = strings.TrimPrefix(admin.URL, "http://")
	t.Cleanup(sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		tr.CloseIdleConnections()
		admin.Close()
	}))
	return p
}

// do tells status and body, or the error.
func (p *peers) do(method, addr, path, body string) string {
	p.t.Helper()
	req, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(resp.StatusCode, " ", string(b))
}

func TestNetservice(t *testing.T) {
	p := start(t, "")
	statistic := `{"poolnum":2,"activeip":3,"availableip":10,"reservedip":1}`
	want := `200 {"type":9,"code":0,"message":"query statistic info succ","poolStatic":` + statistic + `,"data":` + statistic + `}`
	if got := p.do("GET", p.netservice, "/v1/pool/BCS-K8S-90001", ""); got != want {
		t.Errorf("statistic:\n got %s\nwant %s", got, want)
	}
	one := `[{"net":"10.1.0.0","mask":24,"gateway":"10.1.0.1","cluster":"C","active":["10.1.0.9"]}]`
	if got := p.do("PUT", p.admin, "/peers/pools", one); got != "204 " {
		t.Errorf("setting pools: %s", got)
	}
	want = `200 {"type":5,"code":0,"message":"query net pool under C succ","pool":` + one + `,"data":` + one + `}`
	if got := p.do("GET", p.netservice, "/v1/pool/C?info=detail", ""); got != want {
		t.Errorf("detail:\n got %s\nwant %s", got, want)
	}
	for path, want := range map[string]string{
		"/v1/pool/other":        `200 {"type":9,"code":1,"message":"no pool under other"}`,
		"/v1/pool/C?info=brief": `200 {"type":9,"code":1,"message":"the query \"info=brief\": want none, or info=detail"}`,
		"/v1/pool/":             "404 ",
		"/v1/host":              "404 ",
	} {
		if got := p.do("GET", p.netservice, path, ""); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := p.do("POST", p.netservice, "/v1/pool/C", "{}"); !strings.HasPrefix(got, "405 ") {
		t.Errorf("POST: %s", got)
	}
	if got := p.do("PUT", p.admin, "/peers/pools", `[{"colour":1}]`); !strings.HasPrefix(got, "400 pools: want a list") {
		t.Errorf("bad pools: %s", got)
	}
}

const alarm = `{"alarmID":"u1","alarmName":"podEventWarnning","clusterID":"C","module":"k8s-watch","alarmMsg":"m"}`

func TestReceiver(t *testing.T) {
	p := start(t, "")
	for _, tc := range []struct{ method, path, body, want string }{
		{"POST", "/bcshealth/v1/create", alarm, `200 {"result":true,"code":0,"message":"success","data":null}`},
		{"POST", "/bcshealth/v1/create", `{"alarmID":"u1"}`, `200 {"result":false,"code":1,"message":"(bcs-health):alarmName is missing or empty","data":null}`},
		{"POST", "/bcshealth/v1/create", `nonsense`, `200 {"result":false,"code":1,`},
		{"GET", "/bcshealth/v1/create", ``, "405 "},
		{"POST", "/api/v2/alerts", `[{"labels":{"alertname":"PodWarning"},"startsAt":"2024-05-01T08:00:00Z"}]`, "200 "},
		{"POST", "/api/v2/alerts", `[]`, "200 "},
		{"POST", "/api/v2/alerts", `{}`, `400 "want a list of alerts"`},
		{"POST", "/api/v2/alerts", `[{"labels":{}}]`, `400 "alert 0: labels is missing or empty"`},
		{"POST", "/api/v2/alerts", `[{"labels":{"a":1}}]`, `400 "alert 0: label a is not a string"`},
		{"POST", "/api/v2/alerts", `[{"labels":{"a":"b"},"endsAt":"soon"}]`, `400 "alert 0: endsAt is not an RFC 3339 time"`},
		{"POST", "/nowhere", `{}`, "404 "},
	} {
		if got := p.do(tc.method, p.receiver, tc.path, tc.body); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s %s %s: %s", tc.method, tc.path, tc.body, got)
		}
	}
	got := p.do("GET", p.admin, "/peers/received", "")
	if strings.Count(got, "\n") != 3 || !strings.Contains(got, `"kind":"Alarm","body":`+alarm) || !strings.Contains(got, `"kind":"Alert","body":[{"labels":{"alertname":"PodWarning"}`) {
		t.Errorf("received: %s", got)
	}
	if p.do("DELETE", p.admin, "/peers/received", ""); p.do("GET", p.admin, "/peers/received", "") != "200 " {
		t.Error("received was not forgotten")
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		fault, want string
		taken       bool
	}{
		{"503(retry-after=1s)", "503 an injected fault", false},
		{"500(apply=true)", "500 ", true},
		{"html", "502 <html>", false},
		{"reset", "reset by peer", false},
		{"close", "EOF", false},
		{"truncate", "unexpected EOF", true},
		{"stall(10ms)", `200 {"result":true`, true},
		{"slow-body(10ms,pieces=2)", `200 {"result":true`, true},
		{"huge(70000)", `200 {"result":true`, true},
		{"503(kind=Alert)", `200 {"result":true`, true},
	} {
		p := start(t, tc.fault)
		if got := p.do("POST", p.receiver, "/bcshealth/v1/create", alarm); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.fault, got)
		}
		if taken := p.do("GET", p.admin, "/peers/received", "") != "200 "; taken != tc.taken {
			t.Errorf("%s: taken %v, want %v", tc.fault, taken, tc.taken)
		}
	}
	p := start(t, "")
	if got := p.do("POST", p.admin, "/peers/faults", "503(max=1)"); !strings.Contains(got, `"fired":0`) {
		t.Errorf("adding a fault: %s", got)
	}
	if got := p.do("GET", p.netservice, "/v1/pool/C", ""); !strings.HasPrefix(got, "503 ") {
		t.Errorf("with the fault: %s", got)
	}
	if got := p.do("PATCH", p.admin, "/peers/faults", ""); !strings.HasPrefix(got, "405 ") {
		t.Errorf("PATCH: %s", got)
	}
	for _, text := range []string{"refuse(for=1s)", "wrong-result", "double", "late(1s)", "explode"} {
		if _, err := peer.ParseFaults(text); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}
