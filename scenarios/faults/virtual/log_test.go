package virtual

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// lines are those of the log from an offset on, without their time.
func (w *world) lines(from int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for line := range strings.Lines(w.logs.String()[from:]) {
		_, text, _ := strings.Cut(line, " ")
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

// TestLogOfOutages: whatever goes is one line, and when it comes back another, with how
// long and how much waits. Nothing else is logged meanwhile.
func TestLogOfOutages(t *testing.T) {
	for _, tc := range []struct {
		name, storage, watch string
		want                 []string // expressions, one a line
	}{
		{"storage", "refuse(for=20s)", "", []string{
			`level=WARN msg="storage endpoint is down" endpoint=http://127\.0\.0\.1:50024 for=[1-2]\.?\d*s error=.*refused.* waiting=\d+`,
			`level=INFO msg="storage endpoint is up again" endpoint=http://127\.0\.0\.1:50024 after=2\d\.?\d*s waiting=\d+`,
		}},
		{"storage answers 503", "503(for=20s)", "", []string{
			`level=WARN msg="storage endpoint is down" endpoint=http://127\.0\.0\.1:50024 for=[1-2]\.?\d*s error="HTTP 503: .*" waiting=\d+`,
			`level=INFO msg="storage endpoint is up again" endpoint=http://127\.0\.0\.1:50024 after=2\d\.?\d*s waiting=\d+`,
		}},
		{"one kind", "500(kind=ConfigMap,for=40s)", "", []string{
			`level=WARN msg="storage endpoint is down" .*`, // until it takes a Pod
			`level=INFO msg="storage endpoint is up again" .*`,
			`level=WARN msg="storage answers no write of a kind, sending is paced" kinds=ConfigMap for=1\d\.?\d*s error=.* waiting=\d+`,
			`level=INFO msg="storage answers writes of the kind again" kinds=ConfigMap after=(39|4\d)\.?\d*s waiting=\d+`,
		}},
		{"apiserver", "", "gone(40s)", []string{
			`level=WARN msg="apiserver does not answer" for=[1-2]\.?\d*s error=".*refused" silent=\d.*`,
			`level=INFO msg="apiserver answers again" after=([4-5]\d|1m\d)\.?\d*s`,
		}},
		{"rights", "", "403(kind=secrets,for=60s),403(kind=configmaps,for=60s)", []string{
			`level=WARN msg="watch is lost" kinds=ConfigMap,Secret for=[3-4]\.?\d*s error=".*k8s-watch rbac.*" silent=\d.*`,
			`level=INFO msg="watch is back" kinds=.*`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stage(t, time.Hour, func(t *testing.T, w *world) {
				p := w.launch(noSynchronizer)
				time.Sleep(20 * time.Second)
				from := w.logs.Len()
				if tc.storage != "" {
					if err := w.mock.AddFaults(tc.storage); err != nil {
						t.Fatal(err)
					}
				}
				if tc.watch != "" {
					if err := w.api.Faults().Add(tc.watch); err != nil {
						t.Fatal(err)
					}
					if err := w.api.CloseWatches(""); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 40 {
					w.apply(apisim.ConfigMaps, "a", fmt.Sprint("c", i))
					if i%4 == 0 {
						w.apply(apisim.Pods, "a", fmt.Sprint("p", i))
					}
					time.Sleep(time.Second)
				}
				time.Sleep(2 * time.Minute)
				p.stop()
				got := w.lines(from)
				want := append(tc.want, `level=INFO msg=drained sent=0 parked=0 took=0s`)
				if len(got) > len(want)+1 || len(got) < len(want) { // kinds may come back one after the other
					t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
				}
				for _, expression := range want {
					if !regexp.MustCompile("(?m)^" + expression + "$").MatchString(strings.Join(got, "\n")) {
						t.Errorf("no line %s in\n%s", expression, strings.Join(got, "\n"))
					}
				}
			})
		})
	}
}
