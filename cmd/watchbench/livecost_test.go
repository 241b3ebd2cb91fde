package main

import (
	"bufio"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
)

var liveCost = flag.Int("live-cost", 0, "blocks of four cells in which TestLiveCost compares a viewed run with one that nobody views (24 take six minutes; needs make build and a quiet machine)")

// liveLimit is how much of the watcher's CPU per event two viewers of its run may cost it.
const liveLimit = units.Share(0.02)

// TestLiveCost: the cells of NEW are viewed, by two readers of the page's events, and those of
// BASE are not; else both are the same. The gate finds no difference above the limit.
func TestLiveCost(t *testing.T) {
	if *liveCost == 0 {
		t.Skip("go test ./cmd/watchbench -run TestLiveCost -live-cost 24 -timeout 30m")
	}
	bin, err := filepath.Abs("../../bin/watchbench")
	if err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir()
	cmd := exec.CommandContext(t.Context(), bin, "run", "gate", "--live", ":0", "--set", "repeat="+strconv.Itoa(2**liveCost), "--out", runs)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("make build first: " + err.Error())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	address := make(chan string, 1)
	read := make(chan []string, 1)
	go func() { // ends with the process
		lines := bufio.NewScanner(stderr)
		var last []string
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "live page: "); ok {
				address <- url
			}
			if strings.HasPrefix(lines.Text(), "the live page stays") {
				stop() // for as long as it is viewed
			}
			last = append(last[max(0, len(last)-9):], lines.Text())
		}
		read <- last
	}()
	viewed := make(chan int64, 1)
	go func() { viewed <- viewNew(ctx, runs, address) }()
	last := <-read
	stop()
	bytes := <-viewed
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() == exitInvalid { // some cell was; its block is left out
		t.Log(last[len(last)-1])
	} else if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(last, "\n"))
	}
	if least := int64(2 * 2 * *liveCost * 1024); bytes < least {
		t.Errorf("the viewers got %d bytes, at least %d are expected: nobody looked", bytes, least)
	}
	found, err := filepath.Glob(filepath.Join(runs, "gate-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	res, err := result.LoadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	const cost = "watcher.cpuMicrosPerEvent"
	rules := gate.Defaults()
	rule := rules.Metrics[cost]
	rule.Allow = liveLimit
	rules.Metrics[cost] = rule
	v, err := gate.Paired(res, rules)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(v.Sentence())
	i := slices.IndexFunc(v.Metrics, func(f gate.Finding) bool { return f.Name == cost })
	if i < 0 || v.Metrics[i].Ratio == nil {
		t.Skipf("not measured: %v", v.Reasons)
	}
	f := v.Metrics[i]
	t.Logf("%s: %.4f (%.4f to %.4f) times as much when viewed, of %d blocks; %s %s; %d bytes viewed", cost, f.Ratio.Median, f.Interval.Low, f.Interval.High, f.N, f.Outcome, f.Why, bytes)
	if f.Outcome == gate.Fail || f.Ratio.Median > 1+float64(liveLimit) {
		t.Errorf("two viewers cost the watcher more than %v of its CPU", liveLimit)
	}
}

// viewNew has two viewers while the newest cell of the run is one of NEW, and returns how many
// bytes they got.
func viewNew(ctx context.Context, runs string, address <-chan string) (bytes int64) {
	var url string
	select {
	case url = <-address:
	case <-ctx.Done():
		return 0
	}
	var end func() int64 // nil: nobody views
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		switch now := strings.HasPrefix(newestCell(runs), gate.NewSide); {
		case now && end == nil:
			end = viewers(ctx, url)
		case !now && end != nil:
			bytes += end()
			end = nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if end != nil {
				bytes += end()
			}
			return bytes
		}
	}
}

// viewers are two, until they are ended.
func viewers(ctx context.Context, url string) (end func() int64) {
	ctx, stop := context.WithCancel(ctx)
	got := make(chan int64, 2)
	for range cap(got) {
		go func() { got <- view(ctx, url) }()
	}
	return func() (bytes int64) {
		stop()
		for range cap(got) {
			bytes += <-got
		}
		return bytes
	}
}

// newestCell is the cell under way: the one whose folder got a file last.
func newestCell(runs string) (name string) {
	dirs, err := filepath.Glob(filepath.Join(runs, "gate-*", "cells", "*"))
	if err != nil {
		return ""
	}
	var latest time.Time
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && !info.ModTime().Before(latest) {
			latest, name = info.ModTime(), filepath.Base(dir)
		}
	}
	return name
}

// view reads the events of the page until the context ends.
func view(ctx context.Context, url string) int64 {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"events", nil)
	if err != nil {
		return 0
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	n, _ := io.Copy(io.Discard, resp.Body)
	return n
}
