package readers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// Connections bounds the GETs under way, maxLists the LISTs: each may have a body of many MiB.
	Connections = 64
	maxLists    = 8
	// grace is the time that running queries get to finish.
	grace = 5 * time.Second
)

// schedule draws the intended times of one verb's queries, the same for each seed: one at any moment of each interval
// of the rate, so that as many are due as rate and time say.
type schedule struct {
	mean  time.Duration
	start time.Time
	mu    sync.Mutex // guards what follows
	rng   *rand.Rand
	n     int64
}

func newSchedule(seed uint64, verb string, rate float64, start time.Time) *schedule {
	rng := rand.New(rand.NewPCG(seed, uint64(verb[0])))
	return &schedule{rng: rng, start: start, mean: time.Duration(float64(time.Second) / rate)}
}

// take is the next intended time, and a number that chooses what is asked for.
func (s *schedule) take() (at time.Time, choice uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = s.start.Add(time.Duration((float64(s.n) + s.rng.Float64()) * float64(s.mean)))
	s.n++
	return at, s.rng.Uint64()
}

type querier struct {
	verb  string
	rate  float64
	conns int
	at    *endpoint
	log   *Writer
	// path is the URL path of a choice. check returns the number of objects in a body of status 200, or why it is not
	// the answer.
	path  func(choice uint64) string
	check func(choice uint64, body []byte) (int64, error)
}

func (r *readers) queriers() (all []*querier) {
	if r.cfg.Get > 0 {
		chosen := func(choice uint64) named { return r.names[choice%uint64(len(r.names))] }
		all = append(all, &querier{
			verb: Get, rate: r.cfg.Get, conns: Connections, at: r.target, log: r.log,
			path: func(choice uint64) string { return chosen(choice).path },
			check: func(choice uint64, body []byte) (int64, error) {
				if err := jsonscan.ValidWithin(body, maxDepth); err != nil {
					return 0, errInvalid
				}
				if jsonscan.Unquote(jsonscan.Lookup(body, "metadata", "uid")) != chosen(choice).uid {
					return 0, errOther
				}
				return 1, nil
			},
		})
	}
	if r.cfg.List > 0 {
		path := collection
		if r.cfg.Limit > 0 {
			path += "?limit=" + strconv.Itoa(r.cfg.Limit)
		}
		all = append(all, &querier{
			verb: List, rate: r.cfg.List, conns: maxLists, at: r.target, log: r.log,
			path: func(uint64) string { return path },
			check: func(_ uint64, body []byte) (n int64, err error) {
				if _, err = readList(body, func([]byte) { n++ }); err != nil {
					return 0, errInvalid
				}
				return n, nil
			},
		})
	}
	return all
}

// run sends queries from start until stop ends. It returns when the last is answered.
func (q *querier) run(ctx, stop context.Context, seed uint64, start time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stop, func() { time.AfterFunc(grace, cancel) })()
	s := newSchedule(seed, q.verb, q.rate, start)
	var workers sync.WaitGroup
	for range q.conns {
		workers.Go(func() {
			var buf bytes.Buffer
			for {
				at, choice := s.take()
				if lifecycle.Pause(stop, time.Until(at)) != nil {
					return
				}
				q.log.Append(q.ask(ctx, at, choice, &buf))
			}
		})
	}
	workers.Wait()
}

func (q *querier) ask(ctx context.Context, intended time.Time, choice uint64, buf *bytes.Buffer) Record {
	r := Record{What: q.verb, Intended: intended.UnixNano(), Started: time.Now().UnixNano()}
	var err error
	r.Code, err = q.at.fetch(ctx, q.path(choice), buf)
	r.Ended, r.Bytes = time.Now().UnixNano(), int64(buf.Len())
	if err == nil && r.Code == http.StatusOK {
		r.Items, err = q.check(choice, buf.Bytes())
	}
	if err != nil {
		r.Error = reason(err)
	}
	return r
}

// What is wrong with an answer.
var (
	errOther   = errors.New("it is not the object asked for")
	errInvalid = errors.New("the body is not valid")
	errBody    = errors.New("the body is not complete") // it has no end, or is too large
)

// reason puts an error into a few words that are the same for all of a kind.
func reason(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(): // a deadline, too
		return Timeout
	case errors.Is(err, context.Canceled):
		return CutOff
	case errors.Is(err, errBody):
		return errBody.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err.Error() // without the address
	}
	return err.Error()
}

type named struct{ path, uid string }

func nameOf(item []byte) named {
	text := func(key string) string { return jsonscan.Unquote(jsonscan.Lookup(item, "metadata", key)) }
	path := "/api/v1/namespaces/" + url.PathEscape(text("namespace")) + "/pods/" + url.PathEscape(text("name"))
	return named{path: path, uid: text("uid")}
}

// readList takes a whole list apart, shows its items and returns its version.
func readList(data []byte, item func(json []byte)) (version uint64, err error) {
	if err := jsonscan.ValidWithin(data, maxDepth); err != nil {
		return 0, err
	}
	items := jsonscan.Lookup(data, "items")
	if len(items) == 0 || items[0] != '[' {
		return 0, errors.New("not a list: items is not an array")
	}
	for v := range jsonscan.Elements(items) {
		if item != nil {
			item(v)
		}
	}
	return versionIn(jsonscan.Lookup(data, "metadata"))
}

func versionIn(meta []byte) (uint64, error) {
	text := jsonscan.Unquote(jsonscan.Lookup(meta, "resourceVersion"))
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %.40q: want a whole number", text)
	}
	return v, nil
}
