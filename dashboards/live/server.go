package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Source gives the frames of a page, one after the other. It ends with io.EOF, or with the
// cause of ctx.
type Source interface {
	Next(ctx context.Context) (Frame, error)
}

// Server serves one page.
type Server struct {
	title  string
	source Source
	hub    hub

	files map[string]file

	ran atomic.Bool
}

// file is a part of the page.
type file struct {
	kind string
	data []byte
}

//go:embed page
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/index.html"))

// New makes the server of a page with a title.
func New(title string, source Source) (*Server, error) {
	s := &Server{title: title, source: source, hub: hub{boot: rand.Text()}}
	return s, s.build()
}

// remoteScript is where a page without the embedded script asks for it.
const remoteScript = "https://cdn.jsdelivr.net/npm/echarts@%s/dist/echarts.min.js"

// build makes the files of the page.
func (s *Server) build() error {
	setup, err := json.Marshal(newSetup())
	if err != nil {
		return fmt.Errorf("encode the charts: %w", err)
	}
	s.files = map[string]file{"/options.json": {"application/json", setup}}
	for name, kind := range map[string]string{"live.js": "text/javascript; charset=utf-8",
		"live.css": "text/css; charset=utf-8"} {
		data, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			return fmt.Errorf("read the page: %w", err)
		}
		s.files["/"+name] = file{kind, data}
	}
	script, embedded := assets.ECharts()
	lock := assets.Pinned()
	data := struct {
		Title, Page, Remote, Integrity, Notice string
		Charts                                 []*chart
	}{Title: plain(s.title), Charts: layout(), Notice: assets.Notice()}
	if embedded {
		s.files["/echarts.js"] = file{"text/javascript; charset=utf-8", script}
	} else {
		data.Remote, data.Integrity = fmt.Sprintf(remoteScript, lock.Version), lock.FileIntegrity
	}
	digest := sha256.New()
	source, err := pageFiles.ReadFile("page/index.html")
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	for _, part := range [][]byte{source, setup, s.files["/live.js"].data, s.files["/live.css"].data, []byte(s.title)} {
		digest.Write(part)
	}
	s.hub.page = hex.EncodeToString(digest.Sum(nil)[:8])
	data.Page = s.hub.page
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, data); err != nil {
		return fmt.Errorf("fill the page: %w", err)
	}
	s.files["/"] = file{"text/html; charset=utf-8", html.Bytes()}
	return nil
}

// policy allows the page its own files and nothing else. ECharts sets styles on its tooltips.
func (s *Server) policy() string {
	scripts := "'self'"
	if _, embedded := s.files["/echarts.js"]; !embedded {
		scripts += " https://cdn.jsdelivr.net"
	}
	return "default-src 'none'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// handler serves the page. On loopback it answers requests for names of this machine only.
func (s *Server) handler(remote bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /frames", s.hub.serve)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		f, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Content-Security-Policy", s.policy())
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		if !remote && !ours(r.Host) {
			http.Error(w, "this page is for this machine; open it by its address", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// Limits of the server.
const (
	headerTimeout = 10 * time.Second
	maxHeader     = 64 << 10
	grace         = 500 * time.Millisecond // for requests under way at the end
)

// Run serves on l until ctx ends, and closes l. After the source has ended, the page shows
// what was last. It may be called once.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
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
		lifecycle.Stage{Name: "frames", Run: s.pump},
	)
}

// pump publishes what the source gives, and then waits for the end.
func (s *Server) pump(ctx context.Context) error {
	for {
		f, err := s.source.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			<-ctx.Done()
			return nil
		case err != nil:
			return err
		}
		if err := s.hub.publish(f); err != nil {
			return err
		}
	}
}
