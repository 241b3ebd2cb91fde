package peer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/watchbench/watchbench/storagemock/fault"
	"github.com/watchbench/watchbench/storagemock/http1"
	"github.com/watchbench/watchbench/storagemock/latency"
)

// Kinds of requests, for latencies and faults.
const (
	KindPool  = "Pool"
	KindAlarm = "Alarm"
	KindAlert = "Alert"
)

// Behaviour is how requests are served.
type Behaviour struct {
	Model  *latency.Model
	Faults *fault.Set
	Clock  latency.Clock
	Log    *slog.Logger
}

// ParseFaults reads faults a peer can have.
func ParseFaults(text string) ([]fault.Spec, error) {
	specs, err := fault.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		switch s.Effect {
		case fault.Refuse, fault.Late, fault.Double, fault.WrongResult:
			return nil, fmt.Errorf("fault %q: %s is for the storage only", s.Text, s.Effect)
		}
	}
	return specs, nil
}

// answer is what a peer has to say.
type answer struct {
	kind        string
	status      int
	contentType string
	body        []byte
	// take makes the request count; it is called unless a fault prevents it.
	take func()
}

// maxBody bounds a request; an alarm has about 2 KiB.
const maxBody = 1 << 20

// server serves one peer.
type server struct {
	Behaviour
	http  *http1.Server
	reply func(r *http1.Request) answer
}

func newServer(b Behaviour, reply func(*http1.Request) answer) *server {
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{Behaviour: b, reply: reply}
	limits := http1.DefaultLimits()
	limits.Conns, limits.Body = 5000, maxBody
	s.http = http1.New(s, limits, b.Log)
	return s
}

// Run serves connections until ctx ends, and closes l.
func (s *server) Run(ctx context.Context, l net.Listener) error { return s.http.Run(ctx, l) }

var _ http1.Handler = (*server)(nil)

// Serve answers one request, as well as the faults let it.
func (s *server) Serve(ctx context.Context, x *http1.Exchange) {
	a := s.reply(&x.Request)
	namespace, name := "", strings.TrimPrefix(x.Path, "/")
	f := s.Faults.Pick(fault.Request{Method: x.Method, Kind: a.kind, Namespace: namespace, Name: name}, x.Received)
	takes := s.Model.Sample(x.Method, a.kind, x.Received)
	if f != nil && f.Effect == fault.Stall {
		takes += f.Delay
	}
	if takes > 0 && s.Clock.SleepUntil(ctx, x.Received.Add(takes)) != nil {
		return
	}
	if a.take != nil && (f == nil || f.Apply || applies(f.Effect)) {
		a.take()
	}
	out := http1.Answer{Status: a.status, ContentType: a.contentType, Body: a.body}
	if f == nil {
		_ = x.Answer(out)
		return
	}
	s.misbehave(ctx, f, x, out)
}

// applies reports whether a fault spoils only the answer.
func applies(e fault.Effect) bool {
	switch e {
	case fault.Stall, fault.SlowBody, fault.Truncate, fault.Huge:
		return true
	}
	return false
}

func (s *server) misbehave(ctx context.Context, f *fault.Spec, x *http1.Exchange, out http1.Answer) {
	switch f.Effect {
	case fault.Status:
		out.Status, out.ContentType, out.Body = f.Status, "text/plain; charset=utf-8", []byte("an injected fault\n")
		if f.RetryAfter > 0 {
			out.Header = append(out.Header, fmt.Sprintf("Retry-After: %d", int(f.RetryAfter.Seconds())))
		}
		_ = x.Answer(out)
	case fault.HTML:
		_ = x.Answer(http1.Answer{Status: f.Status, ContentType: "text/html", Body: fault.Page(f.Status)})
	case fault.Reset:
		x.Reset()
	case fault.BlackHole:
		x.Hang(ctx)
	case fault.Truncate:
		_ = x.AnswerPart(out, f.Cut(len(out.Body)))
	case fault.SlowBody:
		next := s.Clock.Now()
		_ = x.AnswerSlowly(out, f.Pieces, func() error {
			next = next.Add(f.Delay / time.Duration(f.Pieces))
			return s.Clock.SleepUntil(ctx, next)
		})
	case fault.Huge:
		out.Body = f.Pad(out.Body)
		_ = x.Answer(out)
	case fault.Close:
	default: // a stall has passed
		_ = x.Answer(out)
	}
}

// notFound is the answer to an unknown path.
func notFound(kind string) answer {
	return answer{kind: kind, status: 404, contentType: "text/plain; charset=utf-8", body: []byte("404 page not found\n")}
}

// wrongMethod is the answer to an unknown method.
func wrongMethod(kind string) answer {
	return answer{kind: kind, status: 405, contentType: "text/plain; charset=utf-8", body: []byte("405 method not allowed\n")}
}
