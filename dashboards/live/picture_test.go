package live

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPicture takes the picture of docs/images from the page of a run that goes on, when asked:
//
//	WATCHBENCH_LIVE=http://127.0.0.1:PORT/ WATCHBENCH_SCREENSHOTS=$PWD/docs/images go test ./dashboards/live -run TestPicture
func TestPicture(t *testing.T) {
	url, dir := os.Getenv("WATCHBENCH_LIVE"), os.Getenv("WATCHBENCH_SCREENSHOTS")
	if url == "" || dir == "" {
		t.Skip("WATCHBENCH_LIVE names no page")
	}
	p := newTab(t, browser(t))
	p.open(url, 1400, "light")
	p.await(allDrawn)
	p.await(`/load|drain/.test(document.getElementById("run-phase").innerText) && document.getElementById("verdicts-list").children.length > 2`)
	var picture []byte
	p.do(chromedp.FullScreenshot(&picture, 100))
	if err := os.WriteFile(filepath.Join(dir, "live.png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
	p.quiet(url)
}
