package readers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	frameBuffer = 32 << 10
	// maxFrame bounds one event: an object may have 3 MiB.
	maxFrame = 4 << 20
	// pause is the mean time before a watch that ended is opened again.
	pause = 200 * time.Millisecond
	// maxTries bounds the attempts to open a watch for the first time.
	maxTries = 20
)

// watcher is one watch, opened again and again.
type watcher struct {
	id   int
	at   *endpoint
	log  *Writer
	from uint64
	last atomic.Uint64 // version of the last event or bookmark
}

// run watches until ctx ends. opened is called when the first watch is open.
func (w *watcher) run(ctx context.Context, turn chan struct{}, opened func()) error {
	w.last.Store(w.from)
	rng := rand.New(rand.NewPCG(uint64(w.id), 0x7761746368))
	for tries := 1; ctx.Err() == nil; {
		asked := time.Now().UnixNano()
		resp, err := w.open(ctx, turn)
		if err == nil && resp.StatusCode == http.StatusOK {
			w.log.Append(Record{
				What: Opened, Reader: w.id, Version: w.from, Started: asked, Ended: time.Now().UnixNano(), Code: resp.StatusCode,
			})
			if tries > 0 {
				tries = 0
				opened()
			}
			err = w.read(resp.Body)
			_ = resp.Body.Close() // only read from
		} else if err == nil {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // for the message only
			_ = resp.Body.Close()
			err = &endError{code: resp.StatusCode, text: string(body)}
		}
		if ctx.Err() != nil {
			break
		}
		if tries == maxTries {
			return fmt.Errorf("open a watch of %s: %w", collection, err)
		} else if tries > 0 {
			tries++
		}
		if !w.ended(ctx, err) || lifecycle.Pause(ctx, time.Duration(rng.Float64()*2*float64(pause))) != nil {
			break
		}
	}
	return nil
}

// ended records the end of a watch, and finds where to go on; false if ctx ended.
func (w *watcher) ended(ctx context.Context, err error) bool {
	end := Record{What: Closed, Reader: w.id, Version: w.last.Load(), Ended: time.Now().UnixNano()}
	if gone, ok := errors.AsType[*endError](err); ok {
		end.Code = gone.code
	}
	if err != nil {
		end.Error = reason(err)
	}
	w.log.Append(end)
	w.from = w.last.Load()
	for end.Code == http.StatusGone {
		version, err := w.at.list(ctx, collection+"?limit=1", nil)
		if err == nil {
			w.from = version
			w.last.Store(version)
			break
		}
		if lifecycle.Pause(ctx, pause) != nil {
			return false
		}
	}
	return ctx.Err() == nil
}

// open asks for the watch. turn bounds how many are opened at once.
func (w *watcher) open(ctx context.Context, turn chan struct{}) (*http.Response, error) {
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return w.at.request(ctx, fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%d", collection, w.from))
}

type endError struct {
	code int
	text string
}

func (e *endError) Error() string { return fmt.Sprintf("%d: %.200s", e.code, e.text) }

// read records the events of one watch up to its end; nil is an end in order.
func (w *watcher) read(body io.Reader) error {
	in := bufio.NewScanner(body)
	in.Buffer(make([]byte, 0, frameBuffer), maxFrame)
	for in.Scan() {
		received, line := time.Now().UnixNano(), in.Bytes()
		f, err := parseFrame(line)
		switch {
		case errors.Is(err, jsonscan.ErrUnexpectedEnd) && in.Err() != nil:
			return in.Err() // it is why the event was cut
		case errors.Is(err, jsonscan.ErrUnexpectedEnd):
			return fmt.Errorf("%w: it ends inside an event", errBody)
		case err != nil:
			return err
		case f.typ == typeError:
			return &endError{code: f.code, text: typeError}
		}
		w.log.Append(Record{
			What: Event, Reader: w.id, Type: f.typ, UID: f.uid, Version: f.version, Ended: received,
			Bytes: int64(len(line)) + 1, // with its line's end
		})
		w.last.Store(f.version)
	}
	return in.Err()
}

const typeError = "ERROR"

type frame struct {
	typ, uid string
	version  uint64
	code     int // of an ERROR
}

func parseFrame(line []byte) (f frame, err error) {
	if err := jsonscan.ValidWithin(line, maxDepth); err != nil {
		return f, fmt.Errorf("not an event: %w", err)
	}
	f.typ = jsonscan.Unquote(jsonscan.Lookup(line, "type"))
	object := jsonscan.Lookup(line, "object")
	switch f.typ {
	case "ADDED", "MODIFIED", "DELETED", "BOOKMARK":
	case typeError:
		f.code, _ = strconv.Atoi(string(jsonscan.Lookup(object, "code"))) // of an object other than a Status, 0
		return f, nil
	default:
		return f, fmt.Errorf("not an event: type %.20q", f.typ)
	}
	meta := jsonscan.Lookup(object, "metadata")
	f.uid = jsonscan.Unquote(jsonscan.Lookup(meta, "uid"))
	if f.version, err = versionIn(meta); err == nil && f.uid == "" && f.typ != "BOOKMARK" {
		err = errors.New("its object has no uid")
	}
	if err != nil {
		return f, fmt.Errorf("not an event: %w", err)
	}
	return f, nil
}
