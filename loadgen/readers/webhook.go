package readers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// sendBuffer is how much of an answer the kernel keeps, in bytes; it takes twice as much.
const sendBuffer = 16 << 10

// hook is a receiver of webhooks.
type hook struct {
	id     int // from 1
	listen net.Listener
	log    *Writer
	faults *faults
	key    []byte // of the signatures
	// healthy: no fault is meant for it.
	healthy bool
	last    atomic.Uint64 // the highest version that was delivered
}

// serve answers until ctx ends. What is under way then is cut off.
func (h *hook) serve(ctx context.Context) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
		// What waits in a large buffer would count as taken.
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*net.TCPConn); ok {
				_ = t.SetWriteBuffer(sendBuffer)
			}
			return ctx
		},
	}
	return lifecycle.Serve(ctx, s, h.listen, time.Second)
}

func (h *hook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxFrame))
	r := Record{What: Delivery, Reader: h.id, Started: time.Now().UnixNano(), Bytes: int64(len(body))}
	f, frameErr := parseFrame(body)
	fault := h.faults.pick(h.id)
	switch {
	case err != nil:
		r.Error = errBody.Error()
	case frameErr != nil:
		r.Error, r.Code = "its body is not an event", http.StatusBadRequest
	case req.Header.Get(headerID) != fmt.Sprintf("%s:%d:%s", f.uid, f.version, f.typ):
		r.Error, r.Code = "its id is not uid:version:type", http.StatusBadRequest
	case fault != nil:
		r.Error = fault.Name
	default:
		r.Code = http.StatusNoContent
	}
	r.Type, r.UID, r.Version = f.typ, f.uid, f.version
	r.Signed = h.signed(req.Header, body)
	switch {
	case r.Error != "" && r.Code == 0 && fault != nil:
		r.Code, r.Items = h.misbehave(w, req, fault)
	case r.Code != 0:
		w.WriteHeader(r.Code)
	}
	r.Ended = time.Now().UnixNano()
	h.log.Append(r)
	if r.Code/100 == 2 {
		for was := h.last.Load(); was < f.version && !h.last.CompareAndSwap(was, f.version); was = h.last.Load() {
		}
	}
}

// misbehave does what the fault says, and returns the status that was sent, 0 for none, and
// how much of a huge answer could be sent.
func (h *hook) misbehave(w http.ResponseWriter, req *http.Request, f *Fault) (code int, sent int64) {
	switch f.Effect {
	case Status:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
		}
		w.WriteHeader(f.Status)
		return f.Status, 0
	case Stall:
		if lifecycle.Pause(req.Context(), f.Delay) != nil {
			return 0, 0
		}
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent, 0
	case Hang:
		<-req.Context().Done()
		return 0, 0
	case Huge:
		w.Header().Set("Content-Length", strconv.FormatInt(f.Size, 10))
		w.WriteHeader(http.StatusOK)
		sent, _ = io.CopyN(w, zeros{}, f.Size) // the client may have enough
		return http.StatusOK, sent
	}
	return 0, 0
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// secretKey reads a secret in the form of Standard Webhooks.
func secretKey(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) == 0 {
		return nil, errors.New("want whsec_ and bytes in base64")
	}
	return key, nil
}

// signed reports whether one of the signatures is that of the body.
func (h *hook) signed(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, h.key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", header.Get(headerID), header.Get(headerTimestamp), body) // a hash never fails
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for sig := range strings.FieldsSeq(header.Get(headerSignature)) {
		if hmac.Equal([]byte(sig), []byte(want)) {
			return true
		}
	}
	return false
}
