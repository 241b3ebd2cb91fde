package storagemock_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

const podPath = "/k8s/dynamic/namespace_resources/clusters/C/namespaces/a/Pod/"

// put sends one PUT with a client that waits at most that long, and returns what it saw: the answer, or the error.
func (m *mock) put(name string, wait time.Duration) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), wait)
	defer cancel()
	return putOnce(ctx, m.t, m.client, m.base+podPath+name)
}

// putOnce sends one PUT and returns status, Retry-After and body, or the error.
func putOnce(ctx context.Context, t testing.TB, client *http.Client, url string) string {
	t.Helper()
	body := fmt.Sprintf(`{"data":{"metadata":{"name":%q,"uid":"u1","resourceVersion":"5"}}}`, path.Base(url))
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	// One connection per request, as the original does: net/http never repeats a request on a new connection.
	req.Close = true
	resp, err := client.Do(req)
	if err != nil {
		return "error: " + err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	out := fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("Retry-After"), b)
	if err != nil {
		out += " error: " + err.Error()
	}
	return out
}

func (m *mock) stored(name string) bool {
	return m.Store().Get(podKey(name), nil) != nil
}

func TestFaults(t *testing.T) {
	const ok = `{"result":true,"code":0,"message":"success","data":{}}`
	for _, tc := range []struct {
		fault  string
		sees   string // part of what the client sees
		stored bool
		ledger string // effect/status/code of each entry
	}{
		{"503(retry-after=2s)", `503 2 {"result":false,"code":1405082,"message":"(bcs-storage):put resource failed. an injected fault"`, false, "rejected/503/1405082"},
		{"500(apply=true)", `500  {"result":false`, true, "created/500/1405082"},
		{"422(key=a/x)", `422  {"result":false`, false, "rejected/422/1405082"},
		{"422(key=a/y)", ok, true, "created/200/0"},
		{"reset", "reset by peer", false, "rejected/0/0"},
		{"reset-after", "reset by peer", true, "created/0/0"},
		{"blackhole", "deadline exceeded", false, "rejected/0/0"},
		{"blackhole(apply=true)", "deadline exceeded", true, "created/0/0"},
		{"stall(20ms)", ok, true, "created/200/0"},
		{"double", ok, true, "created/200/0 replaced/0/0"},
		{"late(10ms)", "deadline exceeded", true, "created/0/0"},
		{"late(10ms,answer=200)", ok, true, "created/200/0"},
		{"late(10ms,answer=503)", "503 ", true, "created/503/1405082"},
		{"late(10ms,answer=reset)", "reset by peer", true, "created/0/0"},
		{"double(10ms)", ok, true, "created/200/0 replaced/0/0"},
		{"truncate", "unexpected EOF", true, "created/0/0"},
		{"truncate(bytes=3)", `200  {"r error: unexpected EOF`, true, "created/0/0"},
		{"html", "502  <html>", false, "rejected/502/1405082"},
		{"html(status=200)", "200  <html>", false, "rejected/200/1405082"},
		{"interim(102,times=3)", ok, true, "created/200/0"},
		{"interim(103,status=500)", `500  {"result":false`, false, "rejected/500/1405082"},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			m := start(t, func(c *storagemock.Config) { c.Faults = tc.fault })
			got := m.put("x", time.Second)
			if !strings.Contains(got, tc.sees) {
				t.Errorf("the client saw %s, want %s", got, tc.sees)
			}
			m.stop() // late applications happen now at the latest
			if m.stored("x") != tc.stored {
				t.Errorf("stored: %v, want %v", !tc.stored, tc.stored)
			}
			var entries []string
			for e := range m.Ledger().From(1) {
				entries = append(entries, fmt.Sprintf("%s/%d/%d", e.Effect, e.Status, e.Code))
				if (e.Applied != 0) != (e.Effect != ledger.EffectRejected) || (e.Responded != 0) != (e.Status != 0) {
					t.Errorf("times do not fit: %+v", e)
				}
				if fired := e.Fault != ""; fired != !strings.Contains(tc.fault, "a/y") {
					t.Errorf("the entry's fault is %q", e.Fault)
				}
			}
			if got := strings.Join(entries, " "); got != tc.ledger {
				t.Errorf("ledger: %s, want %s", got, tc.ledger)
			}
		})
	}
}

// until sends PUTs until the client sees that text.
func (m *mock) until(text string) {
	m.t.Helper()
	var got string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if got = m.put("x", time.Second); strings.Contains(got, text) {
			return
		}
	}
	m.t.Fatalf("the client never saw %q, at last %q", text, got)
}

func TestRefusedConnections(t *testing.T) {
	m := start(t, nil)
	if got := m.put("before", time.Second); !strings.Contains(got, `"result":true`) {
		t.Fatal(got)
	}
	if err := m.AddFaults("refuse(for=1h)"); err != nil {
		t.Fatal(err)
	}
	m.until("refused")
	if fired := m.Faults()[0].Fired; fired != 1 {
		t.Errorf("fired %d times", fired)
	}
	if status, body := m.do("DELETE", m.admin.URL+"/faults", ""); status != 200 {
		t.Fatalf("DELETE: %d %s", status, body)
	}
	m.until(`"result":true`)
}

func TestFaultsByAdmin(t *testing.T) {
	m := start(t, nil)
	url := m.admin.URL + "/faults"
	if status, body := m.do("GET", url, ""); status != 200 || body != "[]\n" {
		t.Errorf("GET: %d %s", status, body)
	}
	if status, body := m.do("POST", url, "503(max=1), 504(name=gateway)"); status != 200 || !strings.Contains(body, `{"id":2,"spec":"504(name=gateway)","name":"gateway","fired":0,"keys":0}`) {
		t.Errorf("POST: %d %s", status, body)
	}
	for _, want := range []string{"503 ", "504 ", "504 "} {
		if got := m.put("x", time.Second); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if status, body := m.do("DELETE", url+"?id=2", ""); status != 200 || !strings.Contains(body, `"fired":1`) || strings.Contains(body, "gateway") {
		t.Errorf("DELETE one: %d %s", status, body)
	}
	if got := m.put("x", time.Second); !strings.HasPrefix(got, "200 ") {
		t.Errorf("after the delete: %s", got)
	}
	_, metrics := m.do("GET", m.admin.URL+"/metrics", "")
	for _, want := range []string{
		`storagemock_faults_fired_total{fault="503"} 1`, `storagemock_faults_fired_total{fault="gateway"} 2`,
		`storagemock_requests_total{effect="rejected",kind="Pod",method="PUT"} 3`, `storagemock_requests_total{effect="created",kind="Pod",method="PUT"} 1`,
		"storagemock_objects 1",
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if status, body := m.do("POST", url, ""); status != 400 || strings.Count(body, "\n") != 1 {
		t.Errorf("POST without a fault: %d %q", status, body)
	}
	if status, body := m.do("DELETE", url, ""); status != 200 || body != "[]\n" {
		t.Errorf("DELETE all: %d %s", status, body)
	}
}
