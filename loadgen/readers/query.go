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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/readlog"
)

// schedule draws the intended times of one verb's queries, the same for each seed: one at
// any moment of each interval of the rate, so that as many are due as rate and time say.
type schedule struct {
	mean  time.Duration
	start time.Time
	mu    sync.Mutex // guards what follows
	rng   *rand.Rand
	n     int64
}

func newSchedule(seed uint64, verb string, rate float64, start time.Time) *schedule {
	var salt uint64
	for _, b := range []byte(verb) {
		salt = salt<<8 | uint64(b)
	}
	return &schedule{rng: rand.New(rand.NewPCG(seed, salt)), start: start, mean: time.Duration(float64(time.Second) / rate)}
}

// take is the next intended time, and a number that chooses what is asked for.
func (s *schedule) take() (at time.Time, choice uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = s.start.Add(time.Duration((float64(s.n) + s.rng.Float64()) * float64(s.mean)))
	s.n++
	return at, s.rng.Uint64()
}

// querier sends the queries of one verb.
type querier struct {
	verb  string
	rate  float64
	conns int
	at    *endpoint
	log   Log
	// path is what the choice stands for, check whether a body of status 200 is the answer
	// to that, and how many objects it has.
	path  func(choice uint64) string
	check func(choice uint64, body []byte) (int64, error)
}

// maxLists bounds the LISTs under way: each may have a body of many MiB.
const maxLists = 8

// grace is what a query that is under way gets when queries are to end.
const grace = 5 * time.Second

// run sends queries from start until stop ends. It returns when the last is answered.
func (q *querier) run(ctx, stop context.Context, seed uint64, start time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stop, func() { time.AfterFunc(grace, cancel) })()
	s := newSchedule(seed, q.verb, q.rate, start)
	var workers errgroup.Group
	for range q.conns {
		workers.Go(func() error {
			var buf bytes.Buffer
			for {
				at, choice := s.take()
				if lifecycle.Pause(stop, time.Until(at)) != nil {
					return nil
				}
				q.log.Append(q.ask(ctx, at, choice, &buf))
			}
		})
	}
	_ = workers.Wait() // none fails
}

func (q *querier) ask(ctx context.Context, intended time.Time, choice uint64, buf *bytes.Buffer) readlog.Record {
	r := readlog.Record{What: q.verb, Intended: intended.UnixNano(), Started: time.Now().UnixNano()}
	var err error
	r.Code, err = q.at.fetch(ctx, q.path(choice), buf)
	r.Ended, r.Bytes = time.Now().UnixNano(), int64(buf.Len())
	if err == nil && r.Code == http.StatusOK {
		if r.Items, err = q.check(choice, buf.Bytes()); err != nil && !errors.Is(err, errOther) {
			err = errInvalid
		}
	}
	if err != nil {
		r.Error, r.Items = reason(err), 0
	}
	return r
}

// reason puts an error into a few words that are the same for all of a kind.
func reason(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errOther):
		return errOther.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return readlog.Timeout
	case errors.Is(err, context.Canceled):
		return readlog.CutOff
	case errors.Is(err, errBody):
		return errBody.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address
	}
	return err.Error()
}

var (
	errOther   = errors.New("it is not the object asked for")
	errInvalid = errors.New("the body is not valid")
)

// queriers are the verbs with a rate.
func (r *Readers) queriers() (all []*querier) {
	if r.cfg.Get > 0 {
		all = append(all, &querier{
			verb: readlog.Get, rate: r.cfg.Get, conns: r.cfg.Connections, at: r.gets, log: r.log,
			path: func(choice uint64) string { return r.names[choice%uint64(len(r.names))].path },
			check: func(choice uint64, body []byte) (int64, error) {
				uid, err := readObject(body)
				if err == nil && uid != r.names[choice%uint64(len(r.names))].uid {
					err = fmt.Errorf("%w: uid %s", errOther, uid)
				}
				return 1, err
			},
		})
	}
	if r.cfg.List > 0 {
		path := r.cfg.list()
		all = append(all, &querier{
			verb: readlog.List, rate: r.cfg.List, conns: min(r.cfg.Connections, maxLists), at: r.lists, log: r.log,
			path: func(uint64) string { return path },
			check: func(_ uint64, body []byte) (int64, error) {
				l, err := readList(body, nil)
				return l.items, err
			},
		})
	}
	return all
}
