package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// History is how many frames a viewer gets that comes late, and how many points a line of the page has: ten minutes at
// one a second.
const History = 600

// present is for how long after it asked a viewer counts as being there; a page asks each half second.
const present = 2 * time.Second

// Server serves one page. It keeps the latest frames, as JSON.
type Server struct {
	title string
	boot  string // of this server: a page of another one reloads itself
	ran   atomic.Bool

	mu     sync.Mutex // guards what follows
	meter  meter
	frames [History]json.RawMessage
	head   uint64    // number of the next frame; frame n is frames[n % History]
	asked  time.Time // when somebody did last
}

// New makes the server of a page with a title.
func New(title string) *Server { return &Server{title: title, boot: rand.Text()} }

// Show puts a reading on the page.
func (s *Server) Show(r Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, err := json.Marshal(s.meter.frame(r)); err == nil { // FuzzFrame: it always is
		s.frames[s.head%History] = data
		s.head++
	}
}

// Viewed reports whether somebody views the page.
func (s *Server) Viewed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.asked) < present
}

type news struct {
	Boot   string            `json:"boot"`
	Next   uint64            `json:"next"` // number of the frame to ask for next
	Frames []json.RawMessage `json:"frames"`
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	next, _ := strconv.ParseUint(r.URL.Query().Get("next"), 10, 63)
	s.mu.Lock()
	s.asked = time.Now()
	n := news{s.boot, s.head, []json.RawMessage{}}
	for next = max(next, s.head-min(s.head, History)); next < s.head; next++ {
		n.Frames = append(n.Frames, s.frames[next%History])
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(n) // a viewer may leave at any time
}

var (
	//go:embed page/live.js page/live.css
	pageFiles embed.FS
	//go:embed page/index.html
	pageSource   string
	pageTemplate = template.Must(template.New("").Parse(pageSource))
)

const remoteScript = "https://cdn.jsdelivr.net/npm/echarts@%s/dist/echarts.min.js"

// handler serves the page, which may use its own files and nothing else; ECharts sets styles on its tooltips. On
// loopback it answers requests for names of this machine only.
func (s *Server) handler(remote bool) http.Handler {
	mux, scripts := http.NewServeMux(), "'self'"
	data := struct {
		Title, Boot, Remote, Integrity, Notice string
		History                                int
	}{Title: plain(s.title), Boot: s.boot, Notice: assets.Notice(), History: History}
	if script, embedded := assets.ECharts(); embedded {
		mux.HandleFunc("GET /echarts.js", func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "echarts.js", time.Time{}, bytes.NewReader(script))
		})
	} else {
		lock := assets.Pinned()
		data.Remote, data.Integrity = fmt.Sprintf(remoteScript, lock.Version), lock.FileIntegrity
		scripts += " https://cdn.jsdelivr.net"
	}
	mux.HandleFunc("GET /frames", s.answer)
	mux.HandleFunc("GET /page/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, pageFiles, "page/"+r.PathValue("file"))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _ = pageTemplate.Execute(w, data) })
	policy := "default-src 'none'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-cache", "Content-Security-Policy": policy} {
			w.Header().Set(name, value)
		}
		if !remote && !ours(r.Host) {
			http.Error(w, "this page is for this machine; open it by its address", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// ours reports whether a request for a host may be answered on loopback: a foreign page can have a name of its own
// point here, and would then read what is served.
func ours(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(strings.Trim(host, "[]")) != nil
}

const (
	headerTimeout = 10 * time.Second
	maxHeader     = 64 << 10
	grace         = 500 * time.Millisecond // for requests under way at the end
)

// Run serves on l until ctx ends, and closes l. It scrapes the target, if there is one. It may be called once.
func (s *Server) Run(ctx context.Context, l net.Listener, target *Target) error {
	if s.ran.Swap(true) {
		return errors.Join(errors.New("the live page ran before"), l.Close())
	}
	server := &http.Server{
		Handler: s.handler(Remote(l)), ReadHeaderTimeout: headerTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // of broken connections nobody needs to know
	}
	return lifecycle.Run(ctx,
		lifecycle.Stage{Name: "live page", Run: func(ctx context.Context) error {
			return lifecycle.Serve(ctx, server, lifecycle.Bound(l, lifecycle.AdminBounds), grace)
		}},
		lifecycle.Stage{Name: "scrapes", Run: func(ctx context.Context) error {
			if target != nil {
				target.follow(ctx, s.Show)
			}
			<-ctx.Done()
			return nil
		}},
	)
}

// Listen opens the address of the page: host:port, or :port on the loopback address. Port 0 is any free one.
func Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	var l net.Listener
	if err == nil {
		addr = net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
		l, err = net.Listen("tcp", addr) //nolint:noctx // binding does not block
	}
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // without the words that repeat the address
		}
		return nil, fmt.Errorf("%w; write host:port of this machine, or :0 for any free port of it", err)
	}
	return l, nil
}

// Remote reports whether other machines may reach a listener.
func Remote(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}
