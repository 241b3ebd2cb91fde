package record

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// recording is a recorder at work on a simulated apiserver.
type recording struct {
	server   *apisim.Server
	recorder *Recorder
	file     *memory
	writer   *Writer
}

// begin makes one of pods, of which there are as many as asked for.
func begin(t *testing.T, server *apisim.Server, settings Settings) *recording {
	t.Helper()
	if server == nil {
		var err error
		if server, err = apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}}); err != nil {
			t.Fatal(err)
		}
	}
	r := &recording{server: server, file: &memory{}}
	settings.REST = &rest.Config{Host: "http://apisim", Transport: pipetest.Direct(server)}
	if settings.Resources == nil {
		settings.Resources = []Resource{pods}
	}
	settings.ClusterVersion = "v1.36.3"
	var err error
	if r.recorder, err = New(settings); err != nil {
		t.Fatal(err)
	}
	if r.writer, err = NewWriter(r.file, r.recorder.Header()); err != nil {
		t.Fatal(err)
	}
	return r
}

// run records while act acts, and what is under way then.
func (r *recording) run(t *testing.T, act func()) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.recorder.Run(ctx, r.writer) }()
	act()
	cancel()
	err := <-done
	if closed := r.writer.Close(); closed != nil {
		t.Error(closed)
	}
	return err
}

func put(t *testing.T, s *apisim.Server, name string) {
	t.Helper()
	if _, err := s.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":%q},"spec":{}}`, name)); err != nil {
		t.Fatal(err)
	}
}

// disturb changes pods at random, one each 20 ms.
func disturb(t *testing.T, s *apisim.Server, d time.Duration) {
	rng := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		name := fmt.Sprintf("p%d", rng.IntN(60))
		switch rng.IntN(4) {
		case 0:
			_, _ = s.Delete("pods", "a", name) // or it is not there
		case 1: // made again under its name
			_, _ = s.Delete("pods", "a", name)
			put(t, s, name)
		default:
			put(t, s, name)
		}
	}
}

func truth(s *apisim.Server) map[string]string {
	m := map[string]string{}
	for _, o := range s.Objects("pods") {
		m["Pod "+o.Namespace+"/"+o.Name] = fmt.Sprintf("%s@%d", o.UID, o.ResourceVersion)
	}
	return m
}

// TestSameState: whatever fails on the way, the trace ends in the state of the cluster, and each change in it follows
// from the one before.
func TestSameState(t *testing.T) {
	for _, tc := range []struct {
		faults  string
		objects int
		gaps    bool // some are certain
	}{
		{"", 10, false},
		{"", 2*pageObjects + 1, false},
		{"close(1s,5s)", 10, false},
		{"reset(1s,3s)", 10, false},
		{"410(start):50%,close(2s)", 10, true},
		{"410(mid):2%", 10, true},
		{"410(verb=page):70%,410(mid):2%", 2*pageObjects + 1, true},
		{"error:2%", 10, false},
		{"truncate:2%", 10, false},
		{"junk:1%,unknown:1%", 10, false},
		{"503:40%,close(2s)", 10, false},
		{"429(retry-after=2s):40%,close(2s)", 10, false},
		{"502:40%,close(2s)", 10, false},
		{"gone(15s,from=5s)", 10, false},
		{"400(verb=watch):80%,close(2s)", 10, true},
	} {
		t.Run(tc.faults, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t, nil, Settings{})
				for i := range tc.objects {
					put(t, r.server, fmt.Sprintf("old%d", i))
				}
				if tc.faults != "" {
					if err := r.server.Faults().Add(tc.faults); err != nil {
						t.Fatal(err)
					}
				}
				r.server.Faults().Start()
				err := r.run(t, func() {
					disturb(t, r.server, time.Minute)
					if err := r.server.Faults().Remove(0); err != nil && tc.faults != "" {
						t.Fatal(err)
					}
					time.Sleep(10 * time.Minute) // the longest pause, and a watch that is silent, end
				})
				if err != nil {
					t.Fatal(err)
				}
				got := replay(t, r.file.Bytes())
				differ(t, "state", got.state, truth(r.server))
				if (got.gaps > 0) != tc.gaps && (tc.gaps || tc.faults == "") {
					t.Errorf("%d gaps, want some: %v", got.gaps, tc.gaps)
				}
				if p := r.recorder.Progress()[0]; int(p.Gaps) != got.gaps || int(p.Live) != len(got.state) || p.Version == "" {
					t.Errorf("progress %+v with %d gaps and %d objects", p, got.gaps, len(got.state))
				}
			})
		})
	}
}

// TestShortWatches: a proxy that ends each watch at once is asked with pauses, and what changes meanwhile is not lost.
func TestShortWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, nil, Settings{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		watches, short := 0, true // only one resource is recorded, request by request
		proxy := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if short && req.URL.Query().Get("watch") != "" {
				if watches++; watches > 1000 {
					cancel() // without pauses the bubble's clock stands still
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusOK)
				short = time.Since(r.recorder.header.Started) < 2*time.Minute
				return
			}
			r.server.ServeHTTP(w, req)
		})
		var err error
		r.recorder, err = New(Settings{REST: &rest.Config{Host: "http://apisim", Transport: pipetest.Direct(proxy)}, Resources: []Resource{pods}})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { put(t, r.server, "one") })
		if err := r.recorder.Run(ctx, r.writer); err != nil {
			t.Fatal(err)
		}
		if err := r.writer.Close(); err != nil {
			t.Fatal(err)
		}
		if watches < 3 || watches > 100 {
			t.Errorf("%d watches within two minutes", watches)
		}
		differ(t, "state", replay(t, r.file.Bytes()).state, truth(r.server))
	})
}

// TestRefused: what can never be recorded ends the recording, with the resource.
func TestRefused(t *testing.T) {
	for status, want := range map[string]string{"403": "list pods: ", "404": "list pods: ", "401": "list pods: "} {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, nil, Settings{})
			if err := r.server.Faults().Add(status); err != nil {
				t.Fatal(err)
			}
			r.server.Faults().Start()
			if err := r.run(t, func() { time.Sleep(time.Minute) }); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v", status, err)
			}
		})
	}
}

// TestDiskFullEndsTheRecording: a trace that cannot be written ends the recording.
func TestDiskFullEndsTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, nil, Settings{})
		writer, err := NewWriter(&fullDisk{room: 500}, r.recorder.Header())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- r.recorder.Run(ctx, writer) }()
		disturb(t, r.server, 5*time.Second)
		if err := <-done; !errors.Is(err, errFull) {
			t.Error(err)
		}
		_ = writer.Close()
	})
}

// TestBookmarksAreResumedFrom: a resource that is silent while others change loses nothing when its watch ends.
func TestBookmarksAreResumedFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, nil, Settings{})
		put(t, r.server, "one")
		err := r.run(t, func() {
			time.Sleep(time.Second)
			r.server.Compact() // what was shown so far is too old
			time.Sleep(2 * time.Minute)
			if err := r.server.CloseWatches("pods"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			put(t, r.server, "two")
			time.Sleep(time.Minute)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := replay(t, r.file.Bytes())
		differ(t, "state", got.state, truth(r.server))
		if got.gaps > 0 || r.server.Stats("pods").Watches < 2 {
			t.Errorf("%d gaps, %+v", got.gaps, r.server.Stats("pods"))
		}
	})
}

// TestDown: a recording that does not reach the cluster at its end says so.
func TestDown(t *testing.T) {
	for faults, down := range map[string]bool{"gone(10m,from=5s)": true, "gone(10s,from=5s)": false} {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, nil, Settings{})
			if err := r.server.Faults().Add(faults); err != nil {
				t.Fatal(err)
			}
			r.server.Faults().Start()
			if err := r.run(t, func() { time.Sleep(3 * time.Minute) }); err != nil {
				t.Fatal(err)
			}
			if got := r.recorder.Summary(); strings.HasSuffix(got, ", not followed at the end") != down {
				t.Errorf("%s: %s", faults, got)
			}
		})
	}
}

// TestTooDeep: an object that no trace takes ends the recording, anonymised or not: asked again it would be the same.
func TestTooDeep(t *testing.T) {
	for _, anonymise := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, nil, Settings{Anonymise: anonymise})
			deep := `{"metadata":{"namespace":"a","name":"deep"},"spec":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`
			err := r.run(t, func() {
				time.Sleep(time.Second)
				if _, err := r.server.Apply("pods", []byte(deep)); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			})
			if err == nil || !strings.Contains(err.Error(), "object of") || !strings.Contains(err.Error(), "too deep") {
				t.Errorf("anonymise %v: %v", anonymise, err)
			}
		})
	}
}

// TestProgress: long recordings say how far they are.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := make(chan string, 100)
		r := begin(t, nil, Settings{Progress: func(line string) { lines <- line }})
		put(t, r.server, "one")
		if err := r.run(t, func() { time.Sleep(25 * time.Second); put(t, r.server, "two"); time.Sleep(10 * time.Second) }); err != nil {
			t.Fatal(err)
		}
		close(lines)
		var all []string
		for line := range lines {
			all = append(all, line)
		}
		if len(all) != 3 || !strings.HasPrefix(all[0], "10s: 2 frames, 0 KiB; pods 1 listed, 0 events") || !strings.HasPrefix(all[2], "30s: 3 frames, 0 KiB; pods 1 listed, 1 events") {
			t.Errorf("%q", all)
		}
	})
}

// TestAnonymised: the trace of a custom resource shows neither its group nor its names and passwords, a pod's
// quantities stay, and a second recording uses other pseudonyms.
func TestAnonymised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts []string
		server, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods,
			{Group: "acme.example", Versions: []string{"v1"}, Name: "invoices", Kind: "Invoice", Namespaced: true, Custom: true}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Apply("invoices.acme.example", []byte(`{"metadata":{"namespace":"billing","name":"initech-0042"},
			"spec":{"customer":"Initech","storage":{"password":"4111111111111111"},"max":{"token":"8439e21"},"pin":4711471147114711}}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Apply("pods", []byte(`{"metadata":{"namespace":"billing","name":"initech-0043"},
			"spec":{"containers":[{"resources":{"limits":{"cpu":"1234567m"}},"env":[{"name":"A","value":"Summer2024!"}]}]}}`)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := begin(t, server, Settings{Anonymise: true, Resources: []Resource{pods,
				{Group: "acme.example", Version: "v1", Name: "invoices", Kind: "Invoice", Namespaced: true}}})
			if err := r.run(t, func() { time.Sleep(time.Second) }); err != nil {
				t.Fatal(err)
			}
			got := replay(t, r.file.Bytes())
			text := string(unpacked(t, r.file.Bytes()))
			if len(got.states) != 2 || !strings.Contains(text, `"cpu":"1234567m"`) || !got.header.Anonymised {
				t.Errorf("%+v", got)
			}
			for _, word := range []string{"acme", "nvoice", "initech", "billing",
				"4111111111111111", "8439e21", "4711471147114711", "summer"} {
				if strings.Contains(strings.ToLower(text), word) {
					t.Errorf("%s shows: %s", word, text)
				}
			}
			texts = append(texts, text)
		}
		if texts[0] == texts[1] {
			t.Error("two recordings have the same pseudonyms")
		}
	})
}
