package render

import (
	"os"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestPictures takes the pictures of docs/images from a real run, when asked:
//
//	WATCHBENCH_RUN=out/strategies-… WATCHBENCH_SCREENSHOTS=$PWD/docs/images go test ./reports/render -run TestPictures
//
// report.png stands in README.md below the table of another run, and the others in
// docs/report.md, which names theirs.
func TestPictures(t *testing.T) {
	dir := os.Getenv("WATCHBENCH_RUN")
	if dir == "" {
		t.Skip("WATCHBENCH_RUN names no run")
	}
	res, err := result.LoadFile(dir + "/results.json")
	if err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	path := savedPage(t, res)
	b.media("screen", "light")
	b.open(path, 1280, 900)
	shoot(b, "report.png", "", 1280, 900)
	shoot(b, "report-charts.png", "#figures", 1280, 800)
	b.media("screen", "dark")
	shoot(b, "report-dark.png", "", 1280, 900)
	b.media("screen", "light")
	b.open(path, 390, 900)
	shoot(b, "report-phone.png", "", 390, 1400)
	b.quiet(path)
}
