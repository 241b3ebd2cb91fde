package render

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browserTimeout bounds one test's use of the browser; a page takes a second or two.
const browserTimeout = 3 * time.Minute

// browser is a real Chromium without a window, driven over its DevTools pipe.
type browser struct {
	t        *testing.T
	in       *os.File
	messages chan message
	next     int
	session  string
	problems []string // console errors, exceptions, refused scripts
	requests []string // addresses the page asked for
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserTemp is where Chromium leaves folders behind. Its name is short: there are sockets.
func browserTemp(t *testing.T) string {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startBrowser starts Chromium, or skips the test where there is none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine (Debian: apt-get install chromium)")
	}
	fromTest, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, toTest, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir="+t.TempDir(),
		"--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "TMPDIR="+browserTemp(t))
	cmd.ExtraFiles = []*os.File{fromTest, toTest} // Chromium reads from 3 and writes to 4
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromTest.Close()
	toTest.Close()
	b := &browser{t: t, in: toBrowser, messages: make(chan message, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(b.messages)
		r := bufio.NewReader(fromBrowser)
		for {
			data, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(data[:len(data)-1], &m) != nil {
				return
			}
			select {
			case b.messages <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		b.send("Browser.close", nil)
		toBrowser.Close()
		for range b.messages { // until the browser is gone
		}
		cancel()
		<-read
		_ = cmd.Wait()
		fromBrowser.Close()
		if !t.Failed() {
			return
		}
		for l := range strings.SplitSeq(stderr.String(), "\n") {
			if l != "" && !strings.Contains(l, "dbus") { // there is no desktop to talk to
				t.Logf("browser: %s", l)
			}
		}
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) send(method string, params any) int {
	b.next++
	data, err := json.Marshal(struct {
		ID        int    `json:"id"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
		SessionID string `json:"sessionId,omitempty"`
	}{b.next, method, params, b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	_, _ = b.in.Write(append(data, 0))
	return b.next
}

// call sends a command and waits for its answer; events on the way are noted.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	id := b.send(method, params)
	for m := range b.messages {
		if m.ID != id {
			b.note(m)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
	b.t.Fatalf("%s: the browser ended", method)
}

func (b *browser) note(m message) {
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		b.problems = append(b.problems, string(m.Params))
	case "Runtime.consoleAPICalled":
		var p struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(m.Params, &p) == nil && (p.Type == "error" || p.Type == "warning") {
			b.problems = append(b.problems, string(m.Params))
		}
	case "Network.requestWillBeSent":
		var p struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			b.requests = append(b.requests, p.Request.URL)
		}
	}
}

// open loads a file and waits until it is drawn.
func (b *browser) open(path string, width, height int) {
	b.t.Helper()
	b.size(width, height)
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for m := range b.messages {
		b.note(m)
		if m.Method == "Page.loadEventFired" {
			return
		}
	}
	b.t.Fatal("the browser ended before the page was loaded")
}

func (b *browser) size(width, height int) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// eval runs a script in the page and decodes what it returns.
func (b *browser) eval(script string, result any) {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.Exception != nil {
		b.t.Fatalf("%s: %s %s", script, answer.Exception.Text, answer.Exception.Exception.Description)
	}
	if result != nil && len(answer.Result.Value) > 0 {
		if err := json.Unmarshal(answer.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v", script, err)
		}
	}
}

// text evaluates a script that returns text.
func (b *browser) text(script string) string {
	var s string
	b.eval(script, &s)
	return s
}

// settle waits until a script says true, or for 10 s: what is drawn later is asked for afterwards.
func (b *browser) settle(condition string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`new Promise(done => { const end = Date.now() + 10000; (function look() {
		if ((%s) || Date.now() > end) done(); else setTimeout(look, 20); })(); })`, condition), nil)
}

// media emulates a medium ("print") and a colour scheme.
func (b *browser) media(medium, scheme string) {
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": medium,
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// hover moves the mouse over the middle of an element.
func (b *browser) hover(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, selector), &at)
	for _, d := range []float64{-3, 0} { // a move, not only a position
		b.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at.X + d, "y": at.Y}, nil)
	}
	b.eval(`new Promise(done => setTimeout(done, 250))`, nil) // tooltips come a moment later
}

// screenshot saves the page from the top of an element on ("" is the whole page).
func (b *browser) screenshot(file, selector string, width, height int) {
	b.t.Helper()
	y := 0.0
	if selector != "" {
		b.eval(fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().top + scrollY`, selector), &y)
	}
	var shot struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": y, "width": width, "height": height, "scale": 1}}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails the test for anything the browser complained about or fetched.
func (b *browser) quiet(page string) {
	b.t.Helper()
	b.call("Runtime.evaluate", map[string]any{"expression": "0"}, nil) // collects what is under way
	if len(b.problems) > 0 {
		b.t.Errorf("the browser complains:\n%s", strings.Join(b.problems, "\n"))
	}
	for _, r := range b.requests {
		if r != "file://"+page && !strings.HasPrefix(r, "data:") && r != "about:blank" {
			b.t.Errorf("the page asked for %s", r)
		}
	}
}

// drawAll brings each chart before the window, as a reader who scrolls does.
func (b *browser) drawAll() {
	b.t.Helper()
	b.eval(`(async () => {
		for (const p of document.querySelectorAll("[data-chart]")) {
			if (!p.checkVisibility()) continue;
			p.scrollIntoView({block: "center", behavior: "instant"});
			for (let i = 0; i < 100 && !p.querySelector("svg"); i++) await new Promise(requestAnimationFrame);
		}
		scrollTo({top: 0, behavior: "instant"});
	})()`, nil)
}
