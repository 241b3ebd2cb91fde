package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestProfilesAreLinked: both reports lead to the files, whatever a cell is called.
func TestProfilesAreLinked(t *testing.T) {
	res := fixture(t)
	res.Environment.Profiled = true
	res.Cells[0].Profiles = []result.Profile{
		{Party: "watcher", Kind: result.ProfileCPU, File: "cells/a b)<x>/watcher-cpu.pprof", Seconds: 4},
		{Party: "storagemock", Kind: result.ProfileHeap, File: "cells/plain/storagemock-heap.pprof"},
	}
	var page, text bytes.Buffer
	if err := HTML(&page, res); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&text, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="./cells/a%20b%29%3Cx%3E/watcher-cpu.pprof">`, ">watcher cpu (4 s)</td>", `<a href="./cells/plain/storagemock-heap.pprof">`, "contain what that cost"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, want := range []string{"| watcher cpu (4 s) | cells/a b)&lt;x&gt;/watcher-cpu.pprof |", "| storagemock heap | cells/plain/storagemock-heap.pprof |"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the Markdown has no %s", want)
		}
	}
	res.Cells[0].Profiles = nil
	page.Reset()
	if err := HTML(&page, res); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), `id="profiles"`) {
		t.Error("a run without profiles has a section about them")
	}
}
