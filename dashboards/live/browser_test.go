package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserPatience bounds one wait; a frame comes ten times a second, but the machine may be busy.
const browserPatience = 90 * time.Second

// browser starts a Chromium without a window, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(browserPatience), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("enable-precise-memory-info", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Log(err)
		}
		cancel()
		stop()
	})
	return ctx
}

// tab is one page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // guards what follows
	problems []string   // errors and warnings of the console, exceptions, what the policy refused
	requests []string
}

func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	p := &tab{t: t, ctx: ctx}
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(ev any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			p.problems = append(p.problems, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			p.problems = append(p.problems, fmt.Sprint(e.Entry.Level, " ", e.Entry.Text, " ", e.Entry.URL))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				data, _ := json.Marshal(e.Args)
				p.problems = append(p.problems, string(data))
			}
		case *network.EventRequestWillBeSent:
			p.requests = append(p.requests, e.Request.URL)
		}
	})
	if err := chromedp.Run(ctx, log.Enable(), network.Enable()); err != nil { // not by do: the tab lives as long as the context of its first Run
		t.Fatal(err)
	}
	return p
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) open(url string, width int64, scheme string) {
	p.t.Helper()
	p.do(emulation.SetDeviceMetricsOverride(width, 900, 1, false), p.media(scheme), chromedp.Navigate(url))
}

func (p *tab) media(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// eval runs a script that returns text.
func (p *tab) eval(script string) (text string) {
	p.t.Helper()
	p.do(chromedp.Evaluate("String("+script+")", &text))
	return text
}

// await waits until a condition of the page holds.
func (p *tab) await(condition string) {
	p.t.Helper()
	deadline := time.Now().Add(browserPatience)
	for p.eval(`(() => { try { return !!(`+condition+`); } catch (e) { return false; } })()`) != "true" {
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s; the page says %s; %s", condition, p.eval("document.body.innerText.slice(0, 800)"), strings.Join(p.problems, "\n"))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-p.t.Context().Done():
			p.t.Fatal("the test ended")
		}
	}
}

// quiet fails the test for anything the browser complained about or asked elsewhere.
func (p *tab) quiet(url string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) > 0 {
		p.t.Errorf("the browser complains:\n%s", strings.Join(p.problems, "\n"))
	}
	for _, r := range p.requests {
		if !strings.HasPrefix(r, url) && !strings.HasPrefix(r, "data:") {
			p.t.Errorf("the page asked for %s", r)
		}
	}
}

const (
	hostile  = `<img src=x onerror=\"window.pwned=1\">` // as a label's value
	hostile2 = `</script><script>window.pwned=1</script>`
)

// lively puts a reading on a page ten times a second until the test ends. Its queues, cells
// and notes have hostile names.
func lively(t *testing.T, change func(i int, r *Reading)) *Server {
	server, ctx := New("Test"), t.Context()
	run := Run{Scenario: hostile2, Cell: "cell <b>1</b>", Number: 1, Of: 2, Phase: "load", Fault: "storage: 503:1%"}
	run.Add(Verdict{"cell <b>0</b>", StateFailed, "G1 failed <i>x</i>"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			text := ownText(float64(i)/10, 40+float64(i%30), 35, 30, float64(i%7))
			text += `k8swatch_queue_depth{queue="` + hostile + `"} 50` + "\n" + `k8swatch_queue_capacity{queue="` + hostile + `"} 100` + "\n"
			text += `k8swatch_queue_depth{queue="` + hostile2 + `"} 20` + "\n" + `k8swatch_queue_capacity{queue="` + hostile2 + `"} 100` + "\n"
			for _, le := range []string{"0.5", "1", "+Inf"} {
				text += fmt.Sprintf("k8swatch_freshness_seconds_bucket{kind=\"Pod\",le=%q} %d\n", le, 10*i)
			}
			text = "# TYPE k8swatch_freshness_seconds histogram\n" + text + fmt.Sprintf("k8swatch_freshness_seconds_count{kind=\"Pod\"} %d\n", 10*i)
			r := Reading{Time: time.Now(), Metrics: []byte(text), Run: &run}
			if change != nil {
				change(i, &r)
			}
			server.Show(r)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { <-done })
	return server
}

// serve runs a server at an address until the returned function is called.
func serve(t *testing.T, s *Server, addr string) (url string, stop func()) {
	t.Helper()
	var l net.Listener
	var err error
	for range 50 { // of a server that has just ended, the port may be taken for a moment
		if l, err = Listen(addr); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, l, nil) }()
	return "http://" + l.Addr().String() + "/", sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

const (
	// allDrawn: each chart has a canvas with more than its ground on it.
	allDrawn = `window.live && live.views().length > 0 && live.views().every(v => { const c = v.box.querySelector("canvas"); if (!c) return false;
		const copy = Object.assign(document.createElement("canvas"), {width: c.width, height: c.height}).getContext("2d", {willReadFrequently: true});
		copy.drawImage(c, 0, 0);
		const d = copy.getImageData(0, 0, c.width, c.height).data, seen = new Set();
		for (let i = 0; i < d.length; i += 4) if (d[i + 3]) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
		return seen.size > 8; })`
	pictures = `live.views().map(v => v.box.querySelector("canvas").toDataURL()).join()`
)

// viewed is a tab with a lively page, in which every chart is drawn.
func viewed(t *testing.T, b context.Context) (p *tab, url string) {
	t.Helper()
	url, stop := serve(t, lively(t, nil), ":0")
	t.Cleanup(stop)
	p = newTab(t, b)
	p.open(url, 1000, "light")
	p.await(allDrawn)
	return p, url
}

// TestInBrowser runs all tests in one Chromium.
func TestInBrowser(t *testing.T) {
	b := browser(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"page": page, "theme changes": themeChanges, "hostile names stay text": hostileNamesStayText, "unknown goes": unknownGoes,
		"two viewers": twoViewers, "server restarted": serverRestarted,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

func page(t *testing.T, b context.Context) {
	url, stop := serve(t, lively(t, nil), ":0")
	defer stop()
	for _, width := range []int64{1400, 420} {
		for scheme, ground := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(17, 22, 29)"} {
			t.Run(fmt.Sprintf("%s %d", scheme, width), func(t *testing.T) {
				p := newTab(t, b)
				p.open(url, width, scheme)
				p.await(allDrawn)
				if got := p.eval(`getComputedStyle(document.body).backgroundColor`); got != ground {
					t.Errorf("the ground is %s, want %s", got, ground)
				}
				if got := p.eval(`document.documentElement.scrollWidth + " of " + innerWidth`); got != fmt.Sprintf("%d of %d", width, width) {
					t.Errorf("the page is wider than the window: %s", got)
				}
				before := p.eval(pictures)
				p.do(chromedp.Evaluate(`window.former = live.state().seen`, nil))
				p.await(`live.state().seen > window.former + 10`)
				if p.eval(pictures) == before {
					t.Error("the charts do not change")
				}
				p.quiet(url)
			})
		}
	}
}

// themeChanges: the charts follow when the colour scheme changes under them.
func themeChanges(t *testing.T, b context.Context) {
	p, url := viewed(t, b)
	colors := `live.views()[0].chart.getOption().series.map(s => s.lineStyle.color).join()`
	if got := p.eval(colors); !strings.Contains(got, "#2563eb") {
		t.Errorf("light: %s", got)
	}
	p.do(p.media("dark"))
	p.await(allDrawn)
	p.await(colors + `.includes("#6ea3ff")`)
	p.quiet(url)
}

func hostileNamesStayText(t *testing.T, b context.Context) {
	p, url := viewed(t, b)
	p.eval(`document.getElementById("queues").open = true`)
	p.await(`document.getElementById("queues-body").innerText.includes("<img src=x onerror=")`)
	for _, want := range []string{"Run of </script><script>", "cell <b>1</b> (1 of 2)", "failed cell <b>0</b>: G1 failed <i>x</i>", "Fault now", "storage: 503:1%"} {
		p.await(`document.body.innerText.includes(` + fmt.Sprintf("%q", want) + `)`)
	}
	if got := p.eval(`window.pwned + " " + document.querySelectorAll("img, b, i, main script").length`); got != "undefined 0" {
		t.Errorf("a name became part of the page: %s", got)
	}
	p.quiet(url)
}

// unknownGoes: what a watcher no longer tells is no longer shown, and the kind of the oldest
// change stands beside its age alone, whatever else has that value.
func unknownGoes(t *testing.T, b context.Context) {
	var known atomic.Bool
	known.Store(true)
	url, stop := serve(t, lively(t, func(_ int, r *Reading) {
		text := "k8swatch_inflight_requests 4\nk8swatch_oldest_unsent_seconds{kind=\"Pod\"} 4\nk8swatch_queue_depth{queue=\"Pod_1\"} 5\n"
		if known.Load() {
			text += "process_resident_memory_bytes 4\n"
		}
		r.Metrics = []byte(text)
	}), ":0")
	defer stop()
	p := newTab(t, b)
	p.open(url, 1000, "light")
	const memory = `[...document.querySelectorAll("#figures dd")].some(e => e.previousSibling.textContent === "Memory" && e.textContent !== "–")`
	p.await(memory)
	if got := p.eval(`[...document.querySelectorAll("#figures dd")].filter(e => e.textContent.includes("(Pod)")).map(e => e.previousSibling.textContent).join()`); got != "Oldest unsent" {
		t.Errorf("the kind stands beside %q", got)
	}
	known.Store(false)
	p.await(`!` + memory)
	p.quiet(url)
}

func twoViewers(t *testing.T, b context.Context) {
	s := lively(t, nil)
	url, stop := serve(t, s, ":0")
	defer stop()
	first, second := newTab(t, b), newTab(t, b)
	first.open(url, 1000, "light")
	first.await(`live.state().seen > 20`)
	second.open(url, 1000, "light")
	second.await(`live.state().seen > 20`) // the history, and then its own
	last := `live.state().next`
	for _, p := range []*tab{first, second} {
		p.do(chromedp.Evaluate(`window.former = `+last, nil))
		p.await(last + ` > window.former + 5`)
		p.quiet(url)
	}
	if !s.Viewed() {
		t.Error("nobody views it")
	}
}

// serverRestarted: the page says that it is alone, finds the new server, and forgets the frames of the former one.
func serverRestarted(t *testing.T, b context.Context) {
	first := lively(t, nil)
	url, stop := serve(t, first, ":0")
	p := newTab(t, b)
	p.open(url, 1000, "light")
	p.await(`live.state().seen > 20`)
	p.quiet(url)
	stop()
	p.await(`document.getElementById("problem").innerText.startsWith("Not connected to watchbench since ")`)
	second := lively(t, func(_ int, r *Reading) { r.Err = fmt.Errorf("connection refused") })
	_, stop = serve(t, second, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	defer stop()
	p.await(`live.state().boot === "` + second.boot + `"`)
	p.await(`/^No reading since .*: connection refused$/.test(document.getElementById("problem").innerText)`)
	if got := p.eval(`live.views()[0].data[0].some(x => x[1] != null)`); got != "false" {
		t.Error("it shows points of the former server")
	}
}
