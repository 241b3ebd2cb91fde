package render

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserTimeout bounds one test's use of the browser; a page takes a second or two.
const browserTimeout = 3 * time.Minute

// browser is a tab of a Chromium without a window.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // guards what follows
	problems []string   // console errors, exceptions, refused scripts
	requests []string   // addresses the page asked for
}

// startBrowser starts Chromium, or skips the test where there is none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(browserTimeout), chromedp.Flag("hide-scrollbars", true))
	limit, end := context.WithTimeout(context.Background(), browserTimeout)
	ctx, stop := chromedp.NewExecAllocator(limit, options...)
	ctx, cancel := chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			b.problems = append(b.problems, e.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				data, _ := json.Marshal(e.Args)
				b.problems = append(b.problems, string(data))
			}
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	})
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		stop()
		end()
	})
	b.do(log.Enable(), network.Enable())
	return b
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open loads a file from disk in a window of that size.
func (b *browser) open(path string, width, height int) {
	b.t.Helper()
	b.size(width, height)
	b.do(chromedp.Navigate("file://" + path))
}

func (b *browser) size(width, height int) {
	b.do(emulation.SetDeviceMetricsOverride(int64(width), int64(height), 1, false))
}

// eval runs a script in the page and decodes what it returns.
func (b *browser) eval(script string, result any) {
	b.t.Helper()
	b.do(chromedp.Evaluate(script, result, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// text evaluates a script that returns text.
func (b *browser) text(script string) (s string) {
	b.t.Helper()
	b.eval("String("+script+")", &s)
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
	b.do(emulation.SetEmulatedMedia().WithMedia(medium).WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// hover moves the mouse over the middle of an element.
func (b *browser) hover(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, selector), &at)
	for _, d := range []float64{-3, 0} { // a move, not only a position
		b.do(input.DispatchMouseEvent(input.MouseMoved, at.X+d, at.Y))
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
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		data, err := cdppage.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&cdppage.Viewport{Y: y, Width: float64(width), Height: float64(height), Scale: 1}).Do(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(file, data, 0o644)
	}))
}

// quiet fails the test for anything the browser complained about or fetched.
func (b *browser) quiet(page string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the browser complains:\n%s", strings.Join(b.problems, "\n"))
	}
	for _, r := range b.requests {
		if r != "file://"+page && !strings.HasPrefix(r, "data:") && r != "about:blank" {
			b.t.Errorf("the page asked for %s", r)
		}
	}
}
