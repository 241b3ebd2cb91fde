package watchfault_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/loadgen/watchfault"
)

const resetText = "read tcp: connection reset by peer"

// bubble runs a test in virtual time.
func bubble(t *testing.T, name, faults string, run func(t *testing.T, w *world)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { run(t, newWorld(t, faults)) })
	})
}

func fired(t *testing.T, w *world, want string) {
	t.Helper()
	if got := w.fired(); got != want {
		t.Errorf("fired %q, want %q", got, want)
	}
}

func TestAnswers(t *testing.T) {
	bubble(t, "429", "429(retry-after=2s,max=2)", func(t *testing.T, w *world) {
		for _, path := range []string{podsPath, watching} {
			if code, header, body := w.get(path); code != 429 || header.Get("Retry-After") != "2" || !strings.Contains(body, `"reason":"TooManyRequests"`) {
				t.Errorf("%s: %d %v %s", path, code, header, body)
			}
		}
		if code, _, _ := w.get(podsPath); code != 200 {
			t.Errorf("after max: %d", code)
		}
		fired(t, w, "429 2/1")
	})
	bubble(t, "other requests are left alone", "503", func(t *testing.T, w *world) {
		for _, path := range []string{"/api", "/healthz", "/api/v1/namespaces/a/pods/p"} {
			if code, _, _ := w.get(path); code == 503 {
				t.Errorf("%s was hit", path)
			}
		}
		w.add("504(verb=other)")
		if code, _, body := w.get("/apis"); code != 504 || !strings.Contains(body, `"reason":"Timeout"`) {
			t.Errorf("discovery: %d %s", code, body)
		}
	})
	bubble(t, "filters", "500(kind=Node,verb=list), 501(kind=pods,verb=watch)", func(t *testing.T, w *world) {
		for path, want := range map[string]int{"/api/v1/nodes": 500, podsPath: 200, podsPath + "?watch=1&timeoutSeconds=1": 501, "/api/v1/nodes?watch=1&timeoutSeconds=1": 200} {
			if code, _, _ := w.get(path); code != want {
				t.Errorf("%s: %d, want %d", path, code, want)
			}
		}
	})
	bubble(t, "410 of all kinds", "410(start,verb=watch|stream,max=2), 410(max=3,verb=list|page|watch)", func(t *testing.T, w *world) {
		w.put("p")
		w.put("q")
		w.watch(watching).expect("ERROR 410", "EOF")
		w.watch(stream).expect("ERROR 410", "EOF")
		for _, path := range []string{watching, podsPath, podsPath + "?limit=1&continue=x"} {
			if code, _, body := w.get(path); code != 410 || !strings.Contains(body, `"reason":"Expired"`) {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		fired(t, w, "410(start) 2/1, 410 3/1")
	})
	bubble(t, "no-stream", "no-stream", func(t *testing.T, w *world) {
		if code, _, body := w.get(stream); code != 422 || !strings.Contains(body, "sendInitialEvents") {
			t.Errorf("%d %s", code, body)
		}
		if code, _, _ := w.get(watching + "&timeoutSeconds=1"); code != 200 {
			t.Errorf("a plain watch: %d", code)
		}
	})
	bubble(t, "stall", "stall(5s)", func(t *testing.T, w *world) {
		start := time.Now()
		if code, _, _ := w.get(podsPath); code != 200 || time.Since(start) != 5*time.Second {
			t.Errorf("%d after %s", code, time.Since(start))
		}
	})
	bubble(t, "blackhole ends when it is removed", "blackhole", func(t *testing.T, w *world) {
		start := time.Now()
		time.AfterFunc(time.Hour, func() { _ = w.Faults().Remove(1) })
		if _, _, err := w.get(podsPath); err != resetText || time.Since(start) != time.Hour {
			t.Errorf("%s after %s", err, time.Since(start))
		}
	})
	bubble(t, "reset of a list", "reset(verb=list)", func(t *testing.T, w *world) {
		if _, _, err := w.get(podsPath); err != resetText {
			t.Error(err)
		}
	})
	bubble(t, "gone", "gone(60s,from=10s)", func(t *testing.T, w *world) {
		r := w.watch(watching)
		start := time.Now()
		r.expect(resetText)
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("open watches were reset after %s", d)
		}
		if _, _, err := w.get(podsPath); err != "dial tcp: connection refused" {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if code, _, _ := w.get(podsPath); code != 200 {
			t.Errorf("%d after it came back", code)
		}
		fired(t, w, "gone(60s) 1/0")
	})
}

func TestCourses(t *testing.T) {
	bubble(t, "close at random", "close(1s,5s,kind=Pod)", func(t *testing.T, w *world) {
		seen := map[time.Duration]bool{}
		for range 10 {
			start := time.Now()
			w.watch(watching).expect("EOF")
			d := time.Since(start)
			if seen[d] = true; d < time.Second || d > 5*time.Second {
				t.Errorf("closed after %s", d)
			}
		}
		if len(seen) < 8 {
			t.Errorf("only %d different times", len(seen))
		}
		fired(t, w, "close(1s,5s) 10/1")
	})
	bubble(t, "close reaches an open watch", "", func(t *testing.T, w *world) {
		r := w.watch(watching)
		time.Sleep(time.Minute)
		w.add("close(5s,from=10s)")
		start := time.Now()
		r.expect("EOF")
		if d := time.Since(start); d != 15*time.Second {
			t.Errorf("closed after %s", d)
		}
	})
	bubble(t, "reset later and at once", "reset(2s,max=1), reset(from=10s)", func(t *testing.T, w *world) {
		start := time.Now()
		w.put("p")
		w.watch(watching).expect("ADDED p", resetText)
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("reset after %s", d)
		}
		w.watch(watching).expect("ADDED p", resetText)
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("reset after %s", d)
		}
		if _, _, err := w.get(watching); err != resetText {
			t.Error(err)
		}
	})
	bubble(t, "silent, then goes on", "silent(30s,from=5s)", func(t *testing.T, w *world) {
		r := w.watch(watching)
		start := time.Now()
		w.put("p")
		r.expect("ADDED p")
		time.Sleep(6 * time.Second)
		w.put("q")
		r.expect("ADDED q")
		if d := time.Since(start); d != 35*time.Second {
			t.Errorf("went on after %s", d)
		}
		fired(t, w, "silent(30s) 1/1")
	})
	bubble(t, "silent after the closing bookmark, until it is removed", "silent", func(t *testing.T, w *world) {
		w.put("p")
		r := w.watch(stream)
		r.expect("ADDED p", "END")
		w.put("q")
		time.AfterFunc(time.Hour, func() { _ = w.Faults().Remove(1) })
		start := time.Now()
		r.expect("ADDED q")
		if d := time.Since(start); d != time.Hour {
			t.Errorf("went on after %s", d)
		}
	})
	bubble(t, "silent holds back the end", "silent(1m)", func(t *testing.T, w *world) {
		start := time.Now()
		w.watch(watching + "&timeoutSeconds=10").expect("EOF")
		if d := time.Since(start); d != time.Minute {
			t.Errorf("ended after %s", d)
		}
	})
	bubble(t, "no-bookmark", "no-bookmark", func(t *testing.T, w *world) {
		w.put("p")
		r := w.watch(stream)
		r.expect("ADDED p")
		time.Sleep(time.Second)
		w.put("q")
		r.expect("ADDED q")
		fired(t, w, "no-bookmark 1/1")
	})
}

func TestEvents(t *testing.T) {
	for name, want := range map[string][]string{
		"410(mid)": {"ERROR 410", "EOF"},
		"error":    {"ERROR 500", "EOF"},
		"truncate": {"cut"},
		"unknown":  {"EXPLODED x", "MODIFIED p"},
		"junk":     {"<html><body>502 Bad Gateway</body></html>", "MODIFIED p"},
	} {
		bubble(t, name, name, func(t *testing.T, w *world) {
			w.put("p")
			r := w.watch(stream)
			r.expect("ADDED p", "END") // a list's events are left alone
			fired(t, w, name+" 0/0")
			w.put("p")
			r.expect(want...)
			fired(t, w, name+" 1/1")
		})
	}
	bubble(t, "lost of one type", "lost(modified,max=2)", func(t *testing.T, w *world) {
		r := w.watch(stream)
		w.put("p")
		w.put("p") // lost
		w.put("q")
		w.put("q") // lost
		w.put("p")
		r.expect("END", "ADDED p", "ADDED q", "MODIFIED p")
		fired(t, w, "lost(modified) 2/2")
	})
	bubble(t, "a share of events", "unknown:10%", func(t *testing.T, w *world) {
		r := w.watch(watching)
		hits := 0
		for i := range 1000 {
			w.put(fmt.Sprintf("p%d", i%7))
			if r.next() == "EXPLODED x" {
				hits++
				r.next()
			}
		}
		if hits < 70 || hits > 130 { // the standard deviation is 9.5
			t.Errorf("%d of 1000", hits)
		}
		fired(t, w, fmt.Sprintf("unknown %d/7", hits))
	})
}

func TestOlder(t *testing.T) {
	bubble(t, "watch and streaming list", "older(2)", func(t *testing.T, w *world) {
		for _, name := range []string{"p", "q", "r", "s"} {
			w.put(name)
		}
		w.watch(podsPath+"?watch=1&resourceVersion=1004").expect("ADDED r", "ADDED s")
		r := w.watch(stream)
		r.expect("ADDED p", "ADDED q", "END", "ADDED r", "ADDED s")
		w.put("p")
		r.expect("MODIFIED p")
		fired(t, w, "older(2) 2/1")
	})
	bubble(t, "older than there is", "older(50,max=1)", func(t *testing.T, w *world) {
		w.put("p")
		w.Compact()
		w.watch(stream).expect("ADDED p", "END")
		fired(t, w, "older(50) 0/0")
	})
}

func TestTimes(t *testing.T) {
	bubble(t, "windows repeat", "503(from=10s,for=2s,every=5s)", func(t *testing.T, w *world) {
		var got []string
		for range 24 {
			code, _, _ := w.get(podsPath)
			got = append(got, map[int]string{200: ".", 503: "x"}[code])
			time.Sleep(time.Second)
		}
		if s := strings.Join(got, ""); s != "..........xx...xx...xx.." {
			t.Error(s)
		}
	})
	bubble(t, "held until the start", "", func(t *testing.T, w *world) {
		w.Faults().Hold()
		w.add("503, close(1s), gone(1s,from=5s)")
		time.Sleep(time.Minute)
		r := w.watch(watching)
		time.Sleep(time.Minute)
		if code, _, _ := w.get(podsPath); code != 200 {
			t.Errorf("before the start: %d", code)
		}
		w.Faults().Start()
		start := time.Now()
		if code, _, _ := w.get(podsPath); code != 503 {
			t.Errorf("after the start: %d", code)
		}
		r.expect("EOF")
		if d := time.Since(start); d != time.Second {
			t.Errorf("the watch ended after %s", d)
		}
		time.Sleep(4500 * time.Millisecond)
		if !w.Refusing() {
			t.Error("not gone")
		}
		w.Faults().Start() // counts anew
		if w.Refusing() {
			t.Error("gone before its time")
		}
	})
	bubble(t, "gone returns", "gone(1s,every=10s,max=2)", func(t *testing.T, w *world) {
		var got []string
		for range 30 {
			time.Sleep(500 * time.Millisecond)
			got = append(got, map[bool]string{false: ".", true: "x"}[w.Refusing()])
			time.Sleep(500 * time.Millisecond)
		}
		if s := strings.Join(got, ""); s != "x.........x..................." {
			t.Error(s)
		}
		fired(t, w, "gone(1s) 2/0")
	})
}

// TestSeedDecides: the same seed meets the same faults on one path, whatever happens on another.
func TestSeedDecides(t *testing.T) {
	run := func(t *testing.T, others int) (got string) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "503:30%")
			for range 100 {
				for range others {
					w.get("/api/v1/nodes")
				}
				code, _, _ := w.get(podsPath)
				got += map[int]string{http.StatusOK: ".", http.StatusServiceUnavailable: "x"}[code]
			}
		})
		return got
	}
	first := run(t, 0)
	if again := run(t, 3); again != first {
		t.Errorf("one seed, two courses:\n%s\n%s", first, again)
	}
	if n := strings.Count(first, "x"); n < 15 || n > 45 {
		t.Errorf("%d of 100 at 30 %%", n)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	in := watchfault.NewInjector(1)
	if err := in.Add(strings.Repeat("503,", 40) + "503"); err != nil {
		t.Fatal(err)
	}
	if err := in.Add(strings.Repeat("503,", 40) + "503"); err == nil || len(in.List()) != 41 {
		t.Errorf("%v: %d in force", err, len(in.List()))
	}
}
