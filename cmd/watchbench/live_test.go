package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/runner"
)

// TestLiveAddress: a wrong address is bad input.
func TestLiveAddress(t *testing.T) {
	for _, addr := range []string{"nowhere", ":99999"} {
		if p, err := openLive(testCommand(t.Context(), io.Discard), addr); p != nil || err == nil || exitCode(t.Context(), err) != exitInput || !strings.Contains(err.Error(), "--live "+addr+": ") {
			t.Errorf("--live %s: %v", addr, err)
		}
	}
}

func testCommand(ctx context.Context, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetErr(stderr)
	return cmd
}

// TestLivePageOfARun: the address is printed, what the runner tells is on the page, the report
// is linked and served, and without a viewer nothing stays.
func TestLivePageOfARun(t *testing.T) {
	var stderr bytes.Buffer
	cmd := testCommand(t.Context(), &stderr)
	p, err := openLive(cmd, ":0")
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(stderr.String()), "live page: ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("printed %q", stderr.String())
	}
	p.begin("smoke")
	at := runner.Moment{Cell: "keyed", Number: 1, Of: 2, Phase: "load", Fault: "storage: 503:1%"}
	sample := at
	sample.Sample = &history.Sample{Time: time.Now().UnixNano(), Parties: map[string]history.Use{history.PartyWatcher: {CPUSeconds: 1, RSSBytes: 4096}}}
	sample.Metrics = []byte("k8swatch_events_received_total{kind=\"Pod\"} 5\nk8swatch_inflight_requests 3\n")
	p.Observe(sample)
	for _, v := range []runner.Verdict{{Valid: true, Text: "fine"}, {Valid: true, Open: true, Text: "no check failed"}, {Valid: true, Allowed: true, Open: true, Text: "G1 failed as expected"}, {Valid: true, Violated: []string{"G1"}, Text: "G1 failed"}, {Text: "invalid: late"}} {
		at.Verdict = &v
		p.Observe(at)
	}
	client := &http.Client{Transport: &http.Transport{}}
	read := func(path, until string) (text string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !strings.Contains(text, until) && time.Now().Before(deadline); {
			resp, err := client.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			text = string(data)
		}
		return text
	}
	stream := read("frames", `"state":"invalid"`)
	for _, want := range []string{
		`"scenario":"smoke"`, `"cell":"keyed","number":1,"of":2,"phase":"load","fault":"storage: 503:1%"`, `"inFlight":3`, `"memory":4096`,
		`"judged":5,"failed":1`, `"state":"failed as allowed"`, `"state":"passed","text":"fine"`, `"state":"nothing failed"`, `{"cell":"keyed","state":"failed","text":"G1 failed"}`, `"state":"invalid"`,
	} {
		if !strings.Contains(stream, want) {
			t.Errorf("the stream lacks %s:\n%s", want, stream)
		}
	}
	client.CloseIdleConnections()
	for p.server.Viewed() {
		time.Sleep(50 * time.Millisecond)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Get(url); err == nil {
		t.Error("the page is still served")
	}
}

// TestViewerLearnsTheEnd: a page that is viewed is served until its viewer has seen that the run ended, and no longer.
func TestViewerLearnsTheEnd(t *testing.T) {
	var stderr bytes.Buffer
	p, err := openLive(testCommand(t.Context(), &stderr), ":0")
	if err != nil {
		t.Fatal(err)
	}
	viewing, leave := context.WithCancel(t.Context())
	seen := make(chan string, 1)
	url := strings.TrimSpace(strings.TrimPrefix(stderr.String(), "live page: "))
	go func() { seen <- view(viewing, url) }()
	for deadline := time.Now().Add(10 * time.Second); !p.server.Viewed() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	leave()
	if last := <-seen; !strings.Contains(last, `"ended":true`) {
		t.Errorf("the last that a viewer saw: %s", last)
	}
}

// TestNoLivePage: without --live all of it does nothing.
func TestNoLivePage(t *testing.T) {
	var p *livePage
	p.begin("x")
	if p.observer() != nil || p.close() != nil {
		t.Error("a page that is not there does something")
	}
}

// view asks for the frames of the page until the context ends, and returns the last answer.
func view(ctx context.Context, url string) (last string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		if resp, err := client.Get(url + "frames"); err == nil {
			data, _ := io.ReadAll(resp.Body)
			last = string(data)
			_ = resp.Body.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return last
}
